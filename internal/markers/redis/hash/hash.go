// Package hash describes stores that hold a hash in Redis for each message, whose fields tell its state, since when, and who works on it.
package hash

import (
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/redis/layout"
)

// Problems checks what is different in a hash: its status and its time are fields.
func Problems(p *markers.Problems, c markers.Config) {
	if c.Fields.Status == "" {
		p.Add("fields.status", "is missing: write the field of the hash that tells the state, such as status")
	}
	if c.Fields.Time != "" {
		p.OneOf("fields.time_unit", c.Fields.TimeUnit, codec.Seconds, codec.Millis)
	}
	if c.Value.Codec != codec.Raw || c.Value.Path != "" || c.Value.Time != "" {
		p.Add("value", "is of no use to a hash: name its fields in fields")
	}
	p.States(c)
	p.OnlyFor(markers.RedisString, "ask", c.Ask != "")
	p.OnlyFor(markers.RedisString, "events", c.Events)
}

// Form is a hash of which the configured fields are read.
func Form(c markers.Config) (layout.Form, error) {
	status, err := codec.New(codec.Value{Codec: codec.Raw}, c.States)
	if err != nil {
		return layout.Form{}, err
	}
	anyTime := map[dedup.State][]string{dedup.Present: {codec.AnyValue}}
	since, err := codec.New(codec.Value{Codec: codec.Raw, Time: codec.WholeValue, TimeUnit: c.Fields.TimeUnit}, anyTime)
	names := []string{c.Fields.Status, c.Fields.Time, c.Fields.Owner}
	return layout.Form{Hash: true, Ask: func(key string) layout.Question { return ask(key, names) }, Decode: func(f layout.Fetched) codec.Decoded {
		fields := map[string]string{}
		for i := 0; i+1 < len(f.Fields); i += 2 {
			fields[f.Fields[i]] = f.Fields[i+1]
		}
		delete(fields, "") // what is not configured has this name
		text, ok := fields[c.Fields.Status]
		if !ok {
			return codec.Unknown("the hash has no field " + codec.Printable(c.Fields.Status))
		}
		d := status.Decode(text)
		d.At, d.Owner = since.Decode(fields[c.Fields.Time]).At, fields[c.Fields.Owner]
		return d
	}}, err
}

// ask asks for fields of a hash; a payload beside them is not read.
func ask(key string, names []string) layout.Question {
	command := []any{"hmget", key}
	for _, name := range names {
		command = append(command, name)
	}
	return layout.Question{Type: "hash", Command: command, Read: func(answer any) (f layout.Fetched) {
		values, _ := answer.([]any)
		for i, v := range values {
			if text, ok := v.(string); ok {
				f.Fields = append(f.Fields, names[i], text)
			}
		}
		return f
	}}
}

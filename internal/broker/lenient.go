package broker

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// The types of this file decode fields whose type RabbitMQ does not keep: a value of an unexpected type counts as absent
// and never fails the answer that holds it. Their UnmarshalJSON gets valid JSON, as encoding/json promises.

// A number is a whole number that may be absent, null, "undefined", a float, huge or negative. Every number that is
// read here counts something, so a negative one is as good as absent.
type number struct{ value *int64 }

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	n.value = nil
	if v, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		n.set(v)
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err == nil && v == math.Trunc(v) && v < math.MaxInt64 {
		n.set(int64(v))
	}
	return nil
}

func (n *number) set(v int64) {
	if v >= 0 {
		n.value = &v
	}
}

// A word is a string; anything else counts as empty.
type word string

// UnmarshalJSON implements json.Unmarshaler.
func (w *word) UnmarshalJSON(text []byte) error {
	*w = ""
	if text[0] != '"' {
		return nil
	}
	if inner := text[1 : len(text)-1]; isPlain(inner) {
		*w = word(inner)
		return nil
	}
	return json.Unmarshal(text, (*string)(w))
}

// isPlain reports whether the inside of a JSON string stands for itself.
func isPlain(inner []byte) bool {
	for _, b := range inner {
		if b == '\\' || b >= 0x80 {
			return false
		}
	}
	return true
}

// A flag is a boolean; anything but true counts as false.
type flag bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *flag) UnmarshalJSON(text []byte) error {
	*f = string(text) == "true"
	return nil
}

// names is a list of strings; nil when the field is absent or no list. Members of another type are left out.
type names []string

// UnmarshalJSON implements json.Unmarshaler.
func (n *names) UnmarshalJSON(text []byte) error {
	*n = nil
	if text[0] != '[' {
		return nil
	}
	var words []word
	if err := json.Unmarshal(text, &words); err != nil {
		return err
	}
	*n = make(names, 0, len(words))
	for _, w := range words {
		if w != "" {
			*n = append(*n, string(w))
		}
	}
	return nil
}

// A table is an AMQP table: queue arguments or a policy definition. It is nil for {}, [], "" and null, all of which
// RabbitMQ sends for an empty one. Whole numbers are int64, others float64.
type table map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (t *table) UnmarshalJSON(text []byte) error {
	*t = nil
	if text[0] != '{' || len(text) == 2 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode((*map[string]any)(t)); err != nil {
		return err
	}
	for k, v := range *t {
		(*t)[k] = plainNumbers(v)
	}
	return nil
}

// plainNumbers replaces every json.Number in v.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		for k, inner := range v {
			v[k] = plainNumbers(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = plainNumbers(inner)
		}
	}
	return v
}

// An object is a JSON object of shape T; anything else, such as the [] that Erlang makes of an empty one, counts as the
// zero T.
type object[T any] struct{ value T }

// UnmarshalJSON implements json.Unmarshaler.
func (o *object[T]) UnmarshalJSON(text []byte) error {
	*o = object[T]{}
	if text[0] != '{' {
		return nil
	}
	return json.Unmarshal(text, &o.value)
}

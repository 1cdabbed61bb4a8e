package redis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/redis/client"
	"dedup-dashboard/internal/markers/redis/layout"
)

// The types of Redis values that markers have, as TYPE names them.
const (
	typeString = "string"
	typeHash   = "hash"
	typeNone   = "none"
)

const (
	// maxFields bounds a hash that is read whole: a lock has one field, a read lock one for each reader.
	maxFields = 1000
)

// reading is one key as the server holds it.
type reading struct {
	kind string
	// value is a string, up to one byte more than longest returns: one that is cut equals nothing that it is compared with.
	value string
	// fields are those of a hash, nil if there are more than maxFields.
	fields map[string]string
	// expires is in milliseconds since 1970, or NoExpiry.
	expires int64
	clock   time.Time
}

// matches reports whether the reading has this type and this value.
func (r reading) matches(kind, value string, fields map[string]string) bool {
	if r.kind != kind {
		return false
	}
	if kind == typeHash {
		return r.fields != nil && maps.Equal(r.fields, fields)
	}
	return r.value == value
}

// same reports whether a reading is the marker that was seen.
func (s *session) same(r reading) bool {
	return r.matches(s.seen.Type, string(s.seen.Value), s.fields) && s.sameExpiry(r.expires, s.seen.ExpiresMillis)
}

func (s *session) sameExpiry(a, b int64) bool {
	if !s.relative || a < 0 || b < 0 {
		return a == b
	}
	return max(a-b, b-a) <= layout.ExpiryTolerance.Milliseconds()
}

// read reads a key. Its value is read before its expiry: a value that changes in between goes with a later expiry, and
// so cannot pass for what was seen.
func (s *session) read(ctx context.Context, key string) (reading, error) {
	kind, err := s.conn.Type(ctx, key).Result()
	if err != nil {
		return reading{}, err
	}
	whole := false
	if kind == typeHash {
		n, err := s.conn.HLen(ctx, key).Result()
		if err != nil {
			return reading{}, midway(err)
		}
		whole = n <= maxFields
	}
	pipe := s.conn.Pipeline()
	var value *redis.StringCmd
	var fields *redis.MapStringStringCmd
	switch {
	case kind == typeString:
		value = pipe.GetRange(ctx, key, 0, s.longest())
	case whole:
		fields = pipe.HGetAll(ctx, key)
	}
	expires := redis.NewIntCmd(ctx, s.expiryCommand(), key)
	_ = pipe.Process(ctx, expires)
	clock := pipe.Time(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		if client.IsAnswer(expires.Err(), "ERR unknown command") && !s.relative {
			s.relative = true
			return s.read(ctx, key)
		}
		return reading{}, midway(err)
	}
	return s.reading(kind, value, fields, expires.Val(), clock.Val()), nil
}

// longest is the length of the longest value that a comparison can want, or what the state is decoded from.
func (s *session) longest() int64 {
	n := max(len(s.seen.Value), codec.ValueBytes)
	if s.seen.Retry != nil {
		n = max(n, len(s.seen.Retry.Value))
	}
	return int64(n)
}

func (s *session) expiryCommand() string {
	if s.relative {
		return client.RemainingExpiry
	}
	return client.AbsoluteExpiry
}

func (s *session) reading(kind string, value *redis.StringCmd, fields *redis.MapStringStringCmd, expires int64, clock time.Time) reading {
	r := reading{kind: kind, expires: expires, clock: clock}
	if s.relative && expires >= 0 {
		r.expires += clock.UnixMilli()
	}
	if expires == layout.Gone {
		r.kind = typeNone
		return r
	}
	if value != nil {
		r.value = value.Val()
	}
	if fields != nil {
		r.fields = fields.Val()
	}
	return r
}

// midway words an error between TYPE and the value: the key became another type meanwhile.
func midway(err error) error {
	if client.IsAnswer(err, "WRONGTYPE") {
		return refusedError("it becomes another type at this moment: look at it again")
	}
	return err
}

// hashFields reads the value of a sighting of a hash.
func hashFields(value []byte) (map[string]string, error) {
	var fields map[string]string
	if err := json.NewDecoder(bytes.NewReader(value)).Decode(&fields); err != nil || len(fields) == 0 {
		return nil, errors.New("no JSON object of fields")
	}
	return fields, nil
}

// sighting returns the reading as a sighting, nil if there is no such key. A string that is longer than the one it was
// compared with is cut.
func (s *session) sighting(r reading) *dedup.Sighting {
	if r.kind == typeNone {
		return nil
	}
	now := dedup.Sighting{
		Marker: s.seen.Marker, At: time.Now(), Clock: r.clock, Server: s.server, Type: r.kind, Value: []byte(r.value), ExpiresMillis: r.expires,
	}
	if r.kind == typeHash {
		now.Value = layout.HashText(flat(r.fields))
	}
	if s.same(r) {
		return &now
	}
	now.Marker = s.marker(r)
	return &now
}

// marker decodes a reading that is not what was seen.
func (s *session) marker(r reading) dedup.Marker {
	class, id := s.layout.Known(s.seen.Key)
	f, clock := s.fetched(r, class), r.clock.UnixMilli()
	if class == layout.Retry {
		return s.layout.Counter(s.seen.Key, id, f, clock)
	}
	m := s.layout.Marker(s.seen.Key, s.layout.Decode(f), r.expires, clock)
	m.Key, m.ID = s.seen.Key, id
	return m
}

// fetched turns a reading into what the watching side decodes.
func (s *session) fetched(r reading, class layout.Class) layout.Fetched {
	f := layout.Fetched{Value: r.value, Expiry: r.expires}
	switch wantHash := s.layout.Form.Hash && class == layout.Marker; {
	case r.kind == typeHash && wantHash:
		f.Cut, f.Fields = r.fields == nil, flat(r.fields)
	case wantHash:
		f.Problem = "the key is not a hash"
	case r.kind != typeString:
		f.Problem = "the key is not a string"
	}
	return f
}

// flat returns names and values in turn, as Redis answers them.
func flat(fields map[string]string) []string {
	all := make([]string, 0, 2*len(fields))
	for field, value := range fields {
		all = append(all, field, value)
	}
	return all
}

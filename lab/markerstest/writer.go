// Package markerstest writes markers exactly as consumers do, and holds the conformance suite that every kind of store must pass.
package markerstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// The times to live of both schemes.
const (
	ProcessingTTL = 300 * time.Second
	DoneTTL       = 24 * time.Hour
)

// A Scheme is the wire format of one preset.
type Scheme struct {
	// Preset is the preset that reads it; Prefix begins each marker's key.
	Preset string
	Prefix string
	// RetryPrefix begins each retry counter's key; empty for a scheme without.
	RetryPrefix string
	// Done is the value of a done marker.
	Done func(id string, at time.Time) string
}

// TextStatus is msg:{id} = processing, then done, with retry:{id}.
func TextStatus() Scheme {
	return Scheme{Preset: "redis-text-status", Prefix: "msg:", RetryPrefix: "retry:", Done: func(string, time.Time) string { return "done" }}
}

// JSONStatus is msg:dedup:{id} = processing, then {"status": "success", "result": …, "time": …}.
func JSONStatus() Scheme {
	return Scheme{Preset: "redis-json-status", Prefix: "msg:dedup:", Done: func(id string, at time.Time) string { return JSONDone("order "+id, at) }}
}

// JSONDone returns what Python's json.dumps writes for a done marker of the scheme: blanks behind colon and comma,
// non-ASCII escaped, time in seconds with microseconds.
func JSONDone(result string, at time.Time) string {
	quoted, _ := json.Marshal(result)
	var ascii []byte
	for _, r := range string(quoted) {
		if r < 0x80 {
			ascii = append(ascii, byte(r))
			continue
		}
		for _, unit := range utf16Units(r) {
			ascii = fmt.Appendf(ascii, `\u%04x`, unit)
		}
	}
	return fmt.Sprintf(`{"status": "success", "result": %s, "time": %s}`, ascii, strconv.FormatFloat(float64(at.UnixMicro())/1e6, 'f', -1, 64))
}

func utf16Units(r rune) []rune {
	if r < 0x10000 {
		return []rune{r}
	}
	r -= 0x10000
	return []rune{0xd800 + r>>10, 0xdc00 + r&0x3ff}
}

// Claim writes the processing marker with the commands of the scheme, and reports whether it was the first.
func (s Scheme) Claim(ctx context.Context, rdb redis.Cmdable, id string) (bool, error) {
	if s.RetryPrefix == "" {
		err := rdb.SetArgs(ctx, s.Prefix+id, "processing", redis.SetArgs{Mode: "NX", TTL: ProcessingTTL}).Err()
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
		return err == nil, err
	}
	first, err := s.ClaimWithoutExpiry(ctx, rdb, id)
	if err != nil || !first {
		return first, err
	}
	return true, rdb.Expire(ctx, s.Prefix+id, ProcessingTTL).Err()
}

// ClaimWithoutExpiry is a claim whose consumer died between SETNX and EXPIRE.
func (s Scheme) ClaimWithoutExpiry(ctx context.Context, rdb redis.Cmdable, id string) (bool, error) {
	return rdb.SetNX(ctx, s.Prefix+id, "processing", 0).Result()
}

// Complete writes the done marker with the commands of the scheme.
func (s Scheme) Complete(ctx context.Context, rdb redis.Cmdable, id string, at time.Time) error {
	if s.RetryPrefix == "" {
		return rdb.Set(ctx, s.Prefix+id, s.Done(id, at), DoneTTL).Err()
	}
	_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, s.Prefix+id, s.Done(id, at), 0)
		p.Expire(ctx, s.Prefix+id, DoneTTL)
		p.Del(ctx, s.RetryPrefix+id)
		return nil
	})
	return err
}

// Fail deletes the marker and, in a scheme with retry counters, sets the counter to n.
func (s Scheme) Fail(ctx context.Context, rdb redis.Cmdable, id string, n int) error {
	if err := rdb.Del(ctx, s.Prefix+id).Err(); err != nil || s.RetryPrefix == "" {
		return err
	}
	return rdb.Set(ctx, s.RetryPrefix+id, strconv.Itoa(n), DoneTTL).Err()
}

// clean deletes what the scheme has of a message.
func (s Scheme) clean(ctx context.Context, rdb redis.Cmdable, id string) error {
	err := rdb.Del(ctx, s.Prefix+id).Err()
	if s.RetryPrefix != "" {
		err = errors.Join(err, rdb.Del(ctx, s.RetryPrefix+id).Err())
	}
	return err
}

// A Mix is how many keys of each sort Fill writes.
type Mix struct {
	// Done markers were completed evenly over the last Spread, an hour if zero.
	Done       int
	Spread     time.Duration
	Processing int
	// NoExpiry are processing markers that never expire.
	NoExpiry int
	// GaveUp and Retrying are retry counters of 5 and 1; the first of GaveUp is one of 7.
	GaveUp   int
	Retrying int
	// Foreign keys belong to other users of the database.
	Foreign int
}

// Fill writes the mix in large pipelines: a million keys take a few seconds.
func Fill(ctx context.Context, rdb redis.UniversalClient, s Scheme, mix Mix) error {
	spread := mix.Spread
	if spread == 0 {
		spread = time.Hour
	}
	now, err := rdb.Time(ctx).Result()
	if err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	sorts := []struct {
		n   int
		set func(p redis.Pipeliner, i int)
	}{
		{mix.Done, func(p redis.Pipeliner, i int) {
			id := "done-" + strconv.Itoa(i)
			at := now.Add(-time.Duration(float64(spread) * float64(i) / float64(mix.Done)))
			p.Do(ctx, "set", s.Prefix+id, s.Done(id, at), "pxat", at.Add(DoneTTL).UnixMilli())
		}},
		{mix.Processing, func(p redis.Pipeliner, i int) {
			p.Set(ctx, s.Prefix+"busy-"+strconv.Itoa(i), "processing", ProcessingTTL)
		}},
		{mix.NoExpiry, func(p redis.Pipeliner, i int) { p.Set(ctx, s.Prefix+"stuck-"+strconv.Itoa(i), "processing", 0) }},
		{mix.GaveUp, func(p redis.Pipeliner, i int) {
			count := "5"
			if i == 0 {
				count = "7" // sent again twice, and given up each time
			}
			p.Set(ctx, s.RetryPrefix+"lost-"+strconv.Itoa(i), count, DoneTTL)
		}},
		{mix.Retrying, func(p redis.Pipeliner, i int) { p.Set(ctx, s.RetryPrefix+"again-"+strconv.Itoa(i), "1", DoneTTL) }},
		{mix.Foreign, func(p redis.Pipeliner, i int) { p.Set(ctx, "session:"+strconv.Itoa(i), "x", time.Hour) }},
	}
	for _, sort := range sorts {
		for from := 0; from < sort.n; from += 2000 {
			_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i := from; i < min(from+2000, sort.n); i++ {
					sort.set(p, i)
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("fill: %w", err)
			}
		}
	}
	return nil
}

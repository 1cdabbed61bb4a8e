package redis

import (
	"context"
	"regexp"
	"slices"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/redis/layout"
)

// seenValue is the value of a marker that could not be decoded.
type seenValue struct {
	text string
	// lives is the one state that its life allows; empty where that tells nothing.
	lives dedup.State
}

// suggest reads the sampled markers once more where some are of unknown state, and says under which configuration all of them could
// be decoded.
func (s *store) suggest(ctx context.Context, r *markers.Report, n int) error {
	sample := r.Examples(n)
	odd := map[string]bool{}
	for _, m := range markers.Undecoded(sample) {
		odd[m.Key] = true
	}
	var keys []string
	for _, m := range sample {
		if len(odd) > 0 && m.Key != "" && s.layout.Classify(m.Key) == layout.Marker {
			keys = append(keys, m.Key)
		}
	}
	var seen []seenValue
	var all []seenMarker
	broken := false
	err := s.fetchAll(ctx, keys, func(key string, f layout.Fetched, now int64) {
		if f.Expiry == layout.Gone {
			return
		}
		all = append(all, seenMarker{key, f, f.Expiry, now})
		broken = broken || f.Problem != ""
		if !odd[key] || f.Problem != "" {
			return
		}
		v := seenValue{text: f.Value}
		switch {
		case s.layout.IsLongLived(f.Expiry, now):
			v.lives = s.layout.LongLived
		case s.layout.LongLived == dedup.Done && f.Expiry >= 0:
			v.lives = dedup.Processing
		}
		seen = append(seen, v)
	})
	if err != nil || s.layout.Config.Kind != markers.RedisString {
		return err
	}
	var remedy []string
	r.Unmapped, remedy = mappingOf(s.layout.Config, seen)
	better, ok := fitting(s.layout.Config, all)
	if !ok && len(remedy) == 0 {
		better, ok = present(s.layout.Config, all, seen)
	}
	switch {
	case ok && !broken:
		r.Fits, r.Remedy = better.cfg.Preset, better.lines
	case mappable(s.layout.Config, r.Unmapped):
		r.Remedy = remedy
	}
	return nil
}

// mappable reports whether lists of states can name what was seen: where any value is one, a value that cannot be decoded is so for
// another reason.
func mappable(c markers.Config, unmapped []markers.Unmapped) bool {
	return !slices.Contains(c.States[dedup.Present], codec.AnyValue) || !slices.ContainsFunc(unmapped, func(u markers.Unmapped) bool { return u.Guess == dedup.Present })
}

// readingsOf are the ways to read a value, the entry's own first.
func readingsOf(c markers.Config) []codec.Value {
	return []codec.Value{c.Value, {Codec: codec.JSON, Path: "$.status"}, {Codec: codec.JSON, Path: "$.state"}, {Codec: codec.Java}, {Codec: codec.Quoted}, {Codec: codec.Raw}}
}

// mappingOf returns the statuses in the values, by the first way of reading that makes words of them all, and the lines of the
// store's configuration that would map them.
func mappingOf(c markers.Config, seen []seenValue) ([]markers.Unmapped, []string) {
	if len(seen) == 0 {
		return nil, nil
	}
	for _, v := range readingsOf(c) {
		read := c
		read.Value = v
		statuses, ok := statusesOf(read, seen)
		if !ok {
			continue
		}
		unmapped := markers.Tally(statuses, livesOf(seen))
		if !holds(c, unmapped) {
			return unmapped, nil
		}
		if v.Codec == c.Value.Codec && v.Path == c.Value.Path {
			return unmapped, c.StateLines(unmapped)
		}
		return unmapped, append([]string{valueLine(c, v)}, c.StateLines(unmapped)...)
	}
	texts := make([]string, len(seen))
	for i, v := range seen {
		texts[i] = v.text
	}
	return markers.Tally(texts, nil), nil
}

// holds reports whether the entry stays valid with the statuses under the states that they seem to mean: one whose consumers mark after
// the work has no words for what is in progress.
func holds(c markers.Config, unmapped []markers.Unmapped) bool {
	next := c
	next.States = map[dedup.State][]string{}
	for state, listed := range c.States {
		next.States[state] = slices.Clone(listed)
	}
	for _, u := range unmapped {
		if u.Guess != "" && !c.Lists(u.Status) {
			next.States[u.Guess] = append(next.States[u.Guess], u.Status)
		}
	}
	return !sound(c) || sound(next)
}

// statusWord matches what a status looks like: a token, a result or a time is none.
var statusWord = regexp.MustCompile(`^[\pL\pN][\pL\pN_. :/-]{0,39}$`)

// statusesOf reads the status out of each value, and reports whether each is a word.
func statusesOf(c markers.Config, seen []seenValue) ([]string, bool) {
	k, err := codec.New(c.Value, c.States)
	if err != nil {
		return nil, false
	}
	var all []string
	for _, v := range seen {
		status, err := k.Status(v.text)
		if err != nil || !statusWord.MatchString(status) {
			return nil, false
		}
		all = append(all, status)
	}
	return all, true
}

// valueLine is the line that has values read in another way. What a preset sets and this way cannot use is taken back.
func valueLine(c markers.Config, v codec.Value) string {
	line := "value: {codec: " + v.Codec
	if v.Path != "" || c.Value.Path != "" {
		line += ", path: " + markers.YAMLWord(v.Path)
	}
	if c.Value.Time != "" {
		line += `, time: ""`
	}
	return line + "}"
}

func livesOf(seen []seenValue) []dedup.State {
	lives := make([]dedup.State, len(seen))
	for i, v := range seen {
		lives[i] = v.lives
	}
	return lives
}

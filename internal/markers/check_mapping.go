package markers

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
)

const (
	// mostUnmapped is from how many different statuses on they are taken for what they are not: text of any kind.
	mostUnmapped = 8
	// tellingFirst is how many markers of each kind that tells much go before the others of a sample.
	tellingFirst = 5
)

// Unmapped is a status that sampled markers have and no state lists.
type Unmapped struct {
	// Status is what the value says, decoded; it may be anything that a consumer wrote.
	Status string
	Count  int
	// Guess is the state that it seems to mean, by its word or by how long such markers live; empty where neither tells.
	Guess dedup.State
}

// Telling returns at most n markers of the sample, with those that tell most in front: some that are in flight and some
// that could not be decoded. A sample of a healthy store holds neither.
func (r Report) Telling(n int) []dedup.Marker {
	oldest, odd := r.Pass.OldestProcessing, r.Pass.Undecodable
	all := slices.Concat(oldest[:min(tellingFirst, len(oldest))], odd[:min(tellingFirst, len(odd))], r.Samples)
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(m dedup.Marker) bool {
		double := seen[m.Key] && m.Key != ""
		seen[m.Key] = true
		return double
	})
	return all[:min(len(all), n)]
}

// undecoded are the markers of a sample whose state is unknown.
func undecoded(sample []dedup.Marker) []dedup.Marker {
	return slices.DeleteFunc(slices.Clone(sample), func(m dedup.Marker) bool { return m.State != dedup.StateUnknown })
}

// seenValue is the value of a marker that could not be decoded.
type seenValue struct {
	text string
	// lives is the one state that its life allows; empty where that tells nothing.
	lives dedup.State
}

// suggest reads the sampled markers once more where some are of unknown state, and says under which configuration all of them could
// be decoded.
func (s *redisStore) suggest(ctx context.Context, w *walk, r *Report, n int) error {
	sample := r.Telling(n)
	odd := map[string]bool{}
	for _, m := range undecoded(sample) {
		odd[m.Key] = true
	}
	var keys []string
	for _, m := range sample {
		if len(odd) > 0 && m.Key != "" && s.layout.classify(m.Key) == markerKey {
			keys = append(keys, m.Key)
		}
	}
	var seen []seenValue
	var all []seenMarker
	broken := false
	err := s.fetchAll(ctx, w, keys, func(key string, f fetched, now int64) {
		if f.expiry == gone {
			return
		}
		all = append(all, seenMarker{key, f, f.expiry, now})
		broken = broken || f.problem != ""
		if !odd[key] || f.problem != "" {
			return
		}
		v := seenValue{text: f.value}
		switch {
		case s.layout.tells(f.expiry, now):
			v.lives = s.layout.lifeTells
		case s.layout.lifeTells == dedup.Done && f.expiry >= 0:
			v.lives = dedup.Processing
		}
		seen = append(seen, v)
	})
	if err != nil || s.layout.reads != readString || s.layout.cfg.Kind != kindRedisString {
		return err
	}
	var mend []string
	r.Unmapped, mend = s.layout.cfg.mapped(seen)
	better, ok := s.layout.cfg.fitting(all)
	if !ok && len(mend) == 0 {
		better, ok = s.layout.cfg.present(all, seen)
	}
	switch {
	case ok && !broken:
		r.Fits, r.Mend = better.cfg.Preset, better.lines
	case s.layout.cfg.mappable(r.Unmapped):
		r.Mend = mend
	}
	return nil
}

// mappable reports whether lists of states can name what was seen: where any value is one, a value that cannot be decoded is so for
// another reason.
func (c Config) mappable(unmapped []Unmapped) bool {
	return !slices.Contains(c.States[dedup.Present], codec.AnyValue) || !slices.ContainsFunc(unmapped, func(u Unmapped) bool { return u.Guess == dedup.Present })
}

// readings are the ways to read a value, the entry's own first.
func (c Config) readings() []codec.Value {
	return []codec.Value{c.Value, {Codec: codec.JSON, Path: "$.status"}, {Codec: codec.JSON, Path: "$.state"}, {Codec: codec.Java}, {Codec: codec.Quoted}, {Codec: codec.Raw}}
}

// mapped returns the statuses in the values, by the first way of reading that makes words of them all, and the lines of the
// store's configuration that would map them.
func (c Config) mapped(seen []seenValue) ([]Unmapped, []string) {
	if len(seen) == 0 {
		return nil, nil
	}
	for _, v := range c.readings() {
		read := c
		read.Value = v
		statuses, ok := read.statuses(seen)
		if !ok {
			continue
		}
		unmapped := tallied(statuses, seen)
		if !c.holds(unmapped) {
			return unmapped, nil
		}
		if v.Codec == c.Value.Codec && v.Path == c.Value.Path {
			return unmapped, c.stateLines(unmapped)
		}
		return unmapped, append([]string{c.valueLine(v)}, c.stateLines(unmapped)...)
	}
	texts := make([]string, len(seen))
	for i, v := range seen {
		texts[i] = v.text
	}
	return tallied(texts, nil), nil
}

// holds reports whether the entry stays valid with the statuses under the states that they seem to mean: one whose consumers mark after
// the work has no words for what is in progress.
func (c Config) holds(unmapped []Unmapped) bool {
	next := c
	next.States = map[dedup.State][]string{}
	for state, listed := range c.States {
		next.States[state] = slices.Clone(listed)
	}
	for _, u := range unmapped {
		if u.Guess != "" && !c.lists(u.Status) {
			next.States[u.Guess] = append(next.States[u.Guess], u.Status)
		}
	}
	return c.Validate() != nil || next.Validate() == nil
}

// statusWord matches what a status looks like: a token, a result or a time is none.
var statusWord = regexp.MustCompile(`^[\pL\pN][\pL\pN_. :/-]{0,39}$`)

// statuses reads the status out of each value, and reports whether each is a word.
func (c Config) statuses(seen []seenValue) ([]string, bool) {
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

// tallied adds up equal statuses, the most frequent first. seen holds the value of each status, or is nil.
func tallied(statuses []string, seen []seenValue) []Unmapped {
	all := map[string]*Unmapped{}
	for i, status := range statuses {
		u := all[status]
		if u == nil {
			u = &Unmapped{Status: status, Guess: usually(status)}
			all[status] = u
		}
		u.Count++
		if seen != nil && u.Guess == "" {
			u.Guess = seen[i].lives
		}
	}
	sorted := make([]Unmapped, 0, len(all))
	for _, u := range all {
		sorted = append(sorted, *u)
	}
	slices.SortFunc(sorted, func(a, b Unmapped) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Status, b.Status))
	})
	return sorted
}

// usually returns the state that a status means in every scheme, empty where its word is not that plain.
func usually(status string) dedup.State {
	switch strings.ToLower(status) {
	case "processing", "in_progress", "in-progress", "inprogress", "pending", "started", "running", "working", "claimed", "locked", "consuming":
		return dedup.Processing
	case "done", "completed", "complete", "success", "succeeded", "successful", "finished", "processed", "consumed", "ok":
		return dedup.Done
	case "failed", "failure", "error", "errored", "dead", "rejected", "aborted":
		return dedup.Failed
	}
	return ""
}

// valueLine is the line that has values read in another way. What a preset sets and this way cannot use is taken back.
func (c Config) valueLine(v codec.Value) string {
	line := "value: {codec: " + v.Codec
	if v.Path != "" || c.Value.Path != "" {
		line += ", path: " + yamlWord(v.Path)
	}
	if c.Value.Time != "" {
		line += `, time: ""`
	}
	return line + "}"
}

// stateLines is the line that lists the statuses under the states that they seem to mean, beside those that are listed; none
// where no meaning is known, or where there are so many that they are no statuses.
func (c Config) stateLines(unmapped []Unmapped) []string {
	if c.machine() || len(unmapped) > mostUnmapped {
		return nil
	}
	lists := map[dedup.State][]string{}
	for _, u := range unmapped {
		// Read in another way, a status may be one that is listed already.
		if u.Guess != "" && !c.lists(u.Status) {
			lists[u.Guess] = append(lists[u.Guess], u.Status)
		}
	}
	var entries []string
	for _, state := range dedup.States() {
		if len(lists[state]) == 0 {
			continue
		}
		var items []string
		for _, status := range slices.Concat(c.States[state], lists[state]) {
			items = append(items, yamlWord(status))
		}
		entries = append(entries, string(state)+": ["+strings.Join(items, ", ")+"]")
	}
	if entries == nil {
		return nil
	}
	return []string{"states: {" + strings.Join(entries, ", ") + "}"}
}

func (c Config) lists(status string) bool {
	for _, listed := range c.States {
		if slices.Contains(listed, status) {
			return true
		}
	}
	return false
}

// plainWord matches text that YAML reads as itself; a number or a truth value would be read as one.
var plainWord = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]*$`)

// yamlWord writes text as a YAML scalar.
func yamlWord(text string) string {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return strconv.Quote(text)
	}
	if plainWord.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// suggestRows says which statuses of rows no state lists, and the lines that would.
func (c Config) suggestRows(sample []dedup.Marker) ([]Unmapped, []string) {
	var statuses []string
	for _, m := range undecoded(sample) {
		if m.Status != "" && utf8.ValidString(m.Status) {
			statuses = append(statuses, m.Status)
		}
	}
	unmapped := tallied(statuses, nil)
	return unmapped, c.stateLines(unmapped)
}

// Hint says how to map what no line can be given for; empty where there is nothing to say.
func (c Config) Hint(unmapped []Unmapped) string {
	var open []string
	for _, u := range unmapped {
		if u.Guess == "" && !c.lists(u.Status) {
			open = append(open, codec.Printable(u.Status))
		}
	}
	switch {
	case len(unmapped) > mostUnmapped && c.Kind != kindSQLTable:
		return fmt.Sprintf("%d different values are no statuses: if any value means that the message was seen, use preset redis-presence; else check match and value", len(unmapped))
	case c.machine():
		return "list each status in terminal, or in transitions with those that may follow it"
	case len(open) > 0:
		return "list " + strings.Join(open[:min(len(open), mostUnmapped)], ", ") + " in states, under what it means: processing, done, failed or present"
	}
	return ""
}

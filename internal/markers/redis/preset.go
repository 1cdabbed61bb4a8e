package redis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/redis/layout"
)

// A seenMarker is a sampled marker as the store holds it.
type seenMarker struct {
	key         string
	value       layout.Fetched
	expiry, now int64
}

// A proposal is a description that decodes what was sampled, and the lines that make the store's entry it.
type proposal struct {
	cfg   markers.Config
	lines []string
}

// fits reports whether a description decodes every marker of the sample, and believes none to be in flight that lives longer than that.
func fits(c markers.Config, sample []seenMarker) bool {
	l, err := layout.New(c, layout.Text)
	if err != nil {
		return false
	}
	var all []dedup.Marker
	for _, s := range sample {
		m := l.Marker(s.key, l.Decode(s.value), s.expiry, s.now)
		if m.State == dedup.StateUnknown || l.Classify(s.key) != layout.Marker {
			return false
		}
		all = append(all, m)
	}
	return outliving(all) == 0
}

// fitting returns the preset that decodes the whole sample and gives the values a meaning: of several the one that says most of a marker.
// It is not ok where no preset does.
func fitting(c markers.Config, sample []seenMarker) (proposal, bool) {
	if len(sample) == 0 {
		return proposal{}, false
	}
	// In this order the first that fits says most: states before one state, a time last.
	for _, name := range []string{"redis-json-status", "redis-text-status", "redis-flag", "redis-timestamp"} {
		if p, ok := under(c, name); ok && fits(p.cfg, sample) && !blindTo(p.cfg, sample) {
			return p, true
		}
	}
	return proposal{}, false
}

// present returns the preset that takes any value. It decodes everything and tells nothing, so it is ok only where no value of the sample
// can be decoded and none looks as if it told a state.
func present(c markers.Config, sample []seenMarker, undecoded []seenValue) (proposal, bool) {
	if len(undecoded) == 0 || len(undecoded) < len(sample) || slices.ContainsFunc(undecoded, func(v seenValue) bool { return speaks(c, v) }) {
		return proposal{}, false
	}
	p, ok := under(c, "redis-presence")
	return p, ok && fits(p.cfg, sample)
}

// speaks reports whether a value looks as if it told a state: by any way of reading it is a word, or it is an object with members.
func speaks(c markers.Config, v seenValue) bool {
	if strings.HasPrefix(strings.TrimSpace(v.text), "{") {
		return true
	}
	return slices.ContainsFunc(readingsOf(c), func(way codec.Value) bool {
		read := c
		read.Value = way
		_, ok := statusesOf(read, []seenValue{v})
		return ok
	})
}

// blindTo reports whether a description reads a time out of values that are none of our days: a counter or an id is no time.
func blindTo(c markers.Config, sample []seenMarker) bool {
	if c.Value.Time != codec.WholeValue {
		return false
	}
	l, err := layout.New(c, layout.Text)
	for _, s := range sample {
		if err != nil || (l.Decode(s.value).At.Sub(time.UnixMilli(s.now))).Abs() > 10*365*24*time.Hour {
			return true
		}
	}
	return false
}

// under returns the store under another preset: where it is and which keys are its own stay as they are.
func under(c markers.Config, name string) (proposal, bool) {
	n, ok := markers.Preset(name)
	if !ok || name == c.Preset {
		return proposal{}, false
	}
	lines := []string{"preset: " + name}
	own, _ := markers.Preset(c.Preset)
	n.Name, n.Redis, n.Act, n.Key, n.Sweep, n.Events, n.Yields = c.Name, c.Redis, c.Act, c.Key, c.Sweep, c.Events, c.Yields
	if n.Match != c.Match {
		lines = append(lines, "match: "+markers.YAMLWord(c.Match))
	}
	if derived := n.Match != "" && n.Match != c.Match && c.ID == ""; n.ID != c.ID && !derived {
		lines = append(lines, "id: "+markers.YAMLWord(c.ID))
	}
	if !slices.Equal(n.Exclude, c.Exclude) {
		var all []string
		for _, e := range c.Exclude {
			all = append(all, markers.YAMLWord(e))
		}
		lines = append(lines, "exclude: ["+strings.Join(all, ", ")+"]")
	}
	if n.Retry.Match != c.Retry.Match && codec.ParseGlob(n.Retry.Match).Overlaps(codec.ParseGlob(c.Match)) {
		n.Retry = markers.Retry{}
		lines = append(lines, `retry: {match: "", give_up: 0}`)
	}
	n.Match, n.ID, n.Exclude = c.Match, c.ID, c.Exclude
	lines = append(lines, overriding(n, c, own)...)
	return proposal{n, lines}, sound(n)
}

// overriding are the lines that give back what an entry overrode of its preset, as these lines go on to hold under another one.
func overriding(c markers.Config, was, preset markers.Config) []string {
	var lines []string
	if was.Value != preset.Value {
		lines = append(lines, fmt.Sprintf("value: {codec: %s, path: %s, time: %s, time_unit: %s}", c.Value.Codec, markers.YAMLWord(c.Value.Path), markers.YAMLWord(c.Value.Time), markers.YAMLWord(c.Value.TimeUnit)))
	}
	for _, f := range []struct{ path, was, preset, now string }{
		{"ask", was.Ask, preset.Ask, c.Ask}, {"mark", was.Mark, preset.Mark, c.Mark}, {"on_inflight", was.OnInFlight, preset.OnInFlight, c.OnInFlight},
		{"on_fail", was.OnFail, preset.OnFail, c.OnFail}, {"on_failed", was.OnFailed, preset.OnFailed, c.OnFailed},
	} {
		if f.was != f.preset {
			lines = append(lines, f.path+": "+markers.YAMLWord(f.now))
		}
	}
	if was.TTL != preset.TTL {
		lines = append(lines, fmt.Sprintf("ttl: {processing: %s, done: %s}", c.TTL.Processing, c.TTL.Done))
	}
	if line := allStates(c, was, preset); line != "" {
		lines = append(lines, line)
	}
	return lines
}

// allStates is the line of all states; empty where the entry overrode none.
func allStates(c markers.Config, was, preset markers.Config) string {
	var entries []string
	overrode := false
	for _, state := range dedup.States() {
		overrode = overrode || !slices.Equal(was.States[state], preset.States[state])
		if len(c.States[state])+len(was.States[state]) == 0 {
			continue
		}
		var items []string
		for _, word := range c.States[state] {
			items = append(items, markers.YAMLWord(word))
		}
		entries = append(entries, string(state)+": ["+strings.Join(items, ", ")+"]")
	}
	if !overrode {
		return ""
	}
	return "states: {" + strings.Join(entries, ", ") + "}"
}

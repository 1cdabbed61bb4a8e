package markers

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
)

// mostUnmapped is from how many different statuses on they are taken for what they are not: text of any kind.
const mostUnmapped = 8

// Unmapped is a status that sampled markers have and no state lists.
type Unmapped struct {
	// Status is what the value says, decoded; it may be anything that a consumer wrote.
	Status string
	Count  int
	// Guess is the state that it seems to mean, by its word or by how long such markers live; empty where neither tells.
	Guess dedup.State
}

// Undecoded are the markers of a sample whose state is unknown.
func Undecoded(sample []dedup.Marker) []dedup.Marker {
	return slices.DeleteFunc(slices.Clone(sample), func(m dedup.Marker) bool { return m.State != dedup.StateUnknown })
}

// Tally adds up equal statuses, the most frequent first. lives holds for each the one state that the life of its marker allows, empty
// where that tells nothing; it may be nil.
func Tally(statuses []string, lives []dedup.State) []Unmapped {
	all := map[string]*Unmapped{}
	for i, status := range statuses {
		u := all[status]
		if u == nil {
			u = &Unmapped{Status: status, Guess: usually(status)}
			all[status] = u
		}
		u.Count++
		if lives != nil && u.Guess == "" {
			u.Guess = lives[i]
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

// StateLines is the line that lists the statuses under the states that they seem to mean, beside those that are listed; none
// where no meaning is known, or where there are so many that they are no statuses.
func (c Config) StateLines(unmapped []Unmapped) []string {
	if c.Machine() || len(unmapped) > mostUnmapped {
		return nil
	}
	lists := map[dedup.State][]string{}
	for _, u := range unmapped {
		// Read in another way, a status may be one that is listed already.
		if u.Guess != "" && !c.Lists(u.Status) {
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
			items = append(items, YAMLWord(status))
		}
		entries = append(entries, string(state)+": ["+strings.Join(items, ", ")+"]")
	}
	if entries == nil {
		return nil
	}
	return []string{"states: {" + strings.Join(entries, ", ") + "}"}
}

// Lists reports whether a state has the status.
func (c Config) Lists(status string) bool {
	for _, listed := range c.States {
		if slices.Contains(listed, status) {
			return true
		}
	}
	return false
}

// plainWord matches text that YAML reads as itself; a number or a truth value would be read as one.
var plainWord = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]*$`)

// YAMLWord writes text as a YAML scalar.
func YAMLWord(text string) string {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return strconv.Quote(text)
	}
	if plainWord.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// SuggestRows says which statuses of rows no state lists, and the lines that would.
func (c Config) SuggestRows(sample []dedup.Marker) ([]Unmapped, []string) {
	var statuses []string
	for _, m := range Undecoded(sample) {
		if m.Status != "" && utf8.ValidString(m.Status) {
			statuses = append(statuses, m.Status)
		}
	}
	unmapped := Tally(statuses, nil)
	return unmapped, c.StateLines(unmapped)
}

// Hint says how to map what no line can be given for; empty where there is nothing to say.
func (c Config) Hint(unmapped []Unmapped) string {
	var open []string
	for _, u := range unmapped {
		if u.Guess == "" && !c.Lists(u.Status) {
			open = append(open, codec.Printable(u.Status))
		}
	}
	switch {
	case len(unmapped) > mostUnmapped && c.Kind != SQLTable:
		return fmt.Sprintf("%d different values are no statuses: if any value means that the message was seen, use preset redis-presence; else check match and value", len(unmapped))
	case c.Machine():
		return "list each status in terminal, or in transitions with those that may follow it"
	case len(open) > 0:
		return "list " + strings.Join(open[:min(len(open), mostUnmapped)], ", ") + " in states, under what it means: processing, done, failed or present"
	}
	return ""
}

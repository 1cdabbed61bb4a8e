package alert

import (
	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
)

// foldDependents takes out of the list the alerts that cannot be judged because of a source that fires as unreachable in it, and counts
// them by the alert of that source: one outage is one line. What fires at severe or worse stays in the list. Who filters gets
// everything that was asked for.
func foldDependents(list []*alerts.AlertView, q query) (rest []*alerts.AlertView, folded map[rule.Key]int) {
	if len(q.states) > 0 || q.narrowed() {
		return list, nil
	}
	var down []*alerts.AlertView
	for _, a := range list {
		if a.SourceDown() {
			down = append(down, a)
		}
	}
	folded = map[rule.Key]int{}
	for _, a := range list {
		if source := behind(a, down); source != nil {
			folded[source.Key]++
			continue
		}
		rest = append(rest, a)
	}
	return rest, folded
}

// behind returns the alert of the source because of which another one cannot be judged; nil where there is none, or where it fires so
// high that it must be seen.
func behind(a *alerts.AlertView, down []*alerts.AlertView) *alerts.AlertView {
	if a.State.Phase == alerts.PhaseFiring && a.State.Tier >= dedup.Severe {
		return nil
	}
	for _, source := range down {
		if a.RestsOn(source) {
			return source
		}
	}
	return nil
}

// foldedWords says how many alerts are folded under that of a source, and leads to the list of them; empty where none is.
func foldedWords(source *alerts.AlertView, n int, base string) (line, href string) {
	if n == 0 {
		return "", ""
	}
	line = show.Counted(n, "more alert") + " cannot be judged because " + show.Within(subjectOf(source.Key)) + " cannot be read"
	return line, query{states: []string{stateUnknown}}.address(base)
}

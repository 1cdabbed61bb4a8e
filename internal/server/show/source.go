package show

import (
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// LostNames is how many names one line has; the rest is counted.
const LostNames = 12

// A LostGroup are sources that do not answer for one and the same reason: a server that is down takes every source with it
// that lives there.
type LostGroup struct {
	// Err is the reason, Sources are those that do not answer.
	Err     string
	Sources []dedup.SourceHealth
}

// LostSources groups the sources that do not answer by their error, in the order of their first members.
func LostSources(list []dedup.SourceHealth) []LostGroup {
	var groups []LostGroup
	for _, h := range list {
		i := slices.IndexFunc(groups, func(g LostGroup) bool { return g.Err == h.Err })
		if i < 0 {
			groups = append(groups, LostGroup{Err: h.Err})
			i = len(groups) - 1
		}
		groups[i].Sources = append(groups[i].Sources, h)
	}
	return groups
}

// Names are the sources of the group in words: "store orders and its reported counters".
func (g LostGroup) Names() string {
	var words []string
	for _, h := range g.Sources {
		word := Within(h.Name)
		if h.Kind == "reported" {
			word = "the counters that consumers report"
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if more := len(words) - LostNames; more > 0 {
		words = append(words[:LostNames], templates.Number(more)+" more")
	}
	return Listed(words)
}

// Since is since when the first of them does not answer.
func (g LostGroup) Since() time.Time {
	first := LostSince(g.Sources[0])
	for _, h := range g.Sources[1:] {
		if at := LostSince(h); at.Before(first) {
			first = at
		}
	}
	return first
}

// LastAnswer is when any of them last answered; zero when none ever did.
func (g LostGroup) LastAnswer() time.Time {
	last := g.Sources[0].LastSuccess
	for _, h := range g.Sources[1:] {
		if h.LastSuccess.After(last) {
			last = h.LastSuccess
		}
	}
	return last
}

// Silence says how long the group has been silent and what that means.
func (g LostGroup) Silence(now time.Time) string {
	if g.LastAnswer().IsZero() {
		return "No answer since the start. Figures that need it are unknown until there is one."
	}
	text := "The last answer was " + Ago(g.LastAnswer(), now) + ". "
	if a := g.Sources[0].Away; !a.IsZero() {
		text += AwayText(a, now) + " "
	}
	return text + "Figures that need it are unknown until there is another."
}

// Down says in a few words that the group is down, for places beside which the reason stands at length.
func (g LostGroup) Down(now time.Time) string {
	if at := g.Since(); !at.IsZero() {
		return g.word() + " since " + Moment(at, now).Text
	}
	return g.word()
}

// word is the group as "store down" or "broker down".
func (g LostGroup) word() string {
	words := map[string]string{"broker": "broker", "totals": "broker", "store": "store", "reported": "reported counters"}
	for _, kind := range []string{"broker", "totals", "store", "reported"} {
		if slices.ContainsFunc(g.Sources, func(h dedup.SourceHealth) bool { return h.Kind == kind }) {
			return words[kind] + " down"
		}
	}
	return "source down"
}

// ShortWhy is the reason of an unknown figure for a narrow place: that a source is down is said at length elsewhere on the
// page, so that "store down" is enough. Other reasons stay whole.
func ShortWhy(p *dedup.PipelineStatus, why string) string {
	for _, g := range LostSources(p.Down) {
		for _, h := range g.Sources {
			if h.Err != "" && strings.Contains(why, h.Err) || h.Name != "" && strings.HasPrefix(why, h.Name+" ") {
				return g.word()
			}
		}
	}
	return why
}

// IsLost reports whether a source was tried and does not answer.
func IsLost(h dedup.SourceHealth) bool { return h.Tried && !h.OK }

// LostSince is since when a source does not answer, as well as it is known.
func LostSince(h dedup.SourceHealth) time.Time {
	if h.Since.IsZero() {
		return h.LastTry
	}
	return h.Since
}

// UnreachableSince says since when a source cannot be reached, as far as that is known.
func UnreachableSince(at, now time.Time) string {
	if at.IsZero() {
		return "unreachable"
	}
	return "unreachable since " + Moment(at, now).Text
}

// AwayText says that nobody asked in between.
func AwayText(a dedup.Absence, now time.Time) string {
	return "The dashboard was not running from " + Moment(a.From, now).Text + " to " + Moment(a.Until, now).Text + "."
}

// MethodWords are a source in people's words, and what it counts.
func MethodWords(m dedup.Method) (source, counts string) {
	switch m {
	case dedup.MethodReported:
		return "Reported counters", "consumers count what became of each delivery"
	case dedup.MethodExports:
		return "Exported counters", "deliveries that the consumers' framework counts, less what the store completed, or the duplicates that it counts"
	case dedup.MethodIDGap:
		return "Id gap", "each insert that failed on a duplicate burned an id"
	case dedup.MethodLive:
		return "Live counts", "acks of the broker less what the store completed, both counted at one moment"
	case dedup.MethodStoreHits:
		return "Store hits", "questions of consumers that met a marker, as the store itself counted them"
	case dedup.MethodStoreEvents:
		return "Store events", "notifications of first completions against the commands that consumers sent"
	case dedup.MethodResidual:
		return "Residual interval", "acks of the broker less first completions in the store"
	default:
		return ShortName(string(m)), ""
	}
}

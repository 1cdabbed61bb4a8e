package server

import (
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// lostNames is how many names one line has; the rest is counted.
const lostNames = 12

// A lostGroup are sources that do not answer for one and the same reason: a server that is down takes every source with it
// that lives there.
type lostGroup struct {
	err     string
	sources []dedup.SourceHealth
}

// lostSources groups the sources that do not answer by their error, in the order of their first members.
func lostSources(list []dedup.SourceHealth) []lostGroup {
	var groups []lostGroup
	for _, h := range list {
		i := slices.IndexFunc(groups, func(g lostGroup) bool { return g.err == h.Err })
		if i < 0 {
			groups = append(groups, lostGroup{err: h.Err})
			i = len(groups) - 1
		}
		groups[i].sources = append(groups[i].sources, h)
	}
	return groups
}

// names are the sources of the group in words: "store orders and its reported counters".
func (g lostGroup) names() string {
	var words []string
	for _, h := range g.sources {
		word := within(h.Name)
		if h.Kind == "reported" {
			word = "the counters that consumers report"
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if more := len(words) - lostNames; more > 0 {
		words = append(words[:lostNames], templates.Number(float64(more))+" more")
	}
	return listed(words)
}

// since is since when the first of them does not answer.
func (g lostGroup) since() time.Time {
	first := lostSince(g.sources[0])
	for _, h := range g.sources[1:] {
		if at := lostSince(h); at.Before(first) {
			first = at
		}
	}
	return first
}

// lastAnswer is when any of them last answered; zero when none ever did.
func (g lostGroup) lastAnswer() time.Time {
	last := g.sources[0].LastSuccess
	for _, h := range g.sources[1:] {
		if h.LastSuccess.After(last) {
			last = h.LastSuccess
		}
	}
	return last
}

// silence says how long the group has been silent and what that means.
func (g lostGroup) silence(now time.Time) string {
	if g.lastAnswer().IsZero() {
		return "No answer since the start. Figures that need it are unknown until there is one."
	}
	text := "The last answer was " + ago(g.lastAnswer(), now) + ". "
	if a := g.sources[0].Away; !a.IsZero() {
		text += awayText(a, now) + " "
	}
	return text + "Figures that need it are unknown until there is another."
}

// down says in a few words that the group is down, for places beside which the reason stands at length.
func (g lostGroup) down(now time.Time) string {
	if at := g.since(); !at.IsZero() {
		return g.word() + " since " + moment(at, now).Text
	}
	return g.word()
}

// word is the group as "store down" or "broker down".
func (g lostGroup) word() string {
	words := map[string]string{"broker": "broker", "totals": "broker", "store": "store", "reported": "reported counters"}
	for _, kind := range []string{"broker", "totals", "store", "reported"} {
		if slices.ContainsFunc(g.sources, func(h dedup.SourceHealth) bool { return h.Kind == kind }) {
			return words[kind] + " down"
		}
	}
	return "source down"
}

// shortWhy is the reason of an unknown figure for a narrow place: that a source is down is said at length elsewhere on the
// page, so that "store down" is enough. Other reasons stay whole.
func shortWhy(p *dedup.PipelineStatus, why string) string {
	for _, g := range lostSources(p.Down) {
		for _, h := range g.sources {
			if h.Err != "" && strings.Contains(why, h.Err) || h.Name != "" && strings.HasPrefix(why, h.Name+" ") {
				return g.word()
			}
		}
	}
	return why
}

// A sourceAt is a broker or store with its card.
type sourceAt struct {
	name   string
	health dedup.SourceHealth
	card   templates.SourceCard
}

// foldLost puts the cards of sources that are lost for the same reason into one, where the first of them was.
func foldLost(kind string, list []sourceAt, now time.Time) []templates.SourceCard {
	members := map[string][]sourceAt{}
	for _, s := range list {
		if lost(s.health) && s.health.Err != "" {
			members[s.health.Err] = append(members[s.health.Err], s)
		}
	}
	var cards []templates.SourceCard
	for _, s := range list {
		same := members[s.health.Err]
		switch {
		case len(same) < 2:
			cards = append(cards, s.card)
		case same[0].name == s.name:
			cards = append(cards, lostCard(kind, same, now))
		}
	}
	return cards
}

// lostCard is one card for several sources.
func lostCard(kind string, list []sourceAt, now time.Time) templates.SourceCard {
	g := lostGroup{err: list[0].health.Err}
	var names []string
	for _, s := range list {
		g.sources = append(g.sources, s.health)
		names = append(names, s.card.Name.Short)
	}
	if more := len(names) - lostNames; more > 0 {
		names = append(names[:lostNames], templates.Number(float64(more))+" more")
	}
	health := list[0].health
	health.LastSuccess = g.lastAnswer()
	return templates.SourceCard{
		Kind: counted(len(list), kind), Name: templates.Sentence(listed(names)), Tier: dedup.Severe.String(), Word: unreachableSince(g.since(), now),
		Problems: []templates.Problem{unreachable(health, now)},
	}
}

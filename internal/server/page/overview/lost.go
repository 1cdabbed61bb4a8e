package overview

import (
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

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
		if show.IsLost(s.health) && s.health.Err != "" {
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
	g := show.LostGroup{Err: list[0].health.Err}
	var names []string
	for _, s := range list {
		g.Sources = append(g.Sources, s.health)
		names = append(names, s.card.Name.Short)
	}
	if more := len(names) - show.LostNames; more > 0 {
		names = append(names[:show.LostNames], templates.Number(more)+" more")
	}
	health := list[0].health
	health.LastSuccess = g.LastAnswer()
	return templates.SourceCard{
		Kind: show.Counted(len(list), kind), Name: templates.Sentence(show.Listed(names)), Tier: dedup.Severe.String(), Word: show.UnreachableSince(g.Since(), now),
		Problems: []templates.Problem{unreachable(health, now)},
	}
}

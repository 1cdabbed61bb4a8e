package marker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// leftSum counts what a plan leaves out by reason, the most frequent first: "2 left out: 1 gone, 1 could not be decoded". It is
// empty where nothing is left out.
func leftSum(p marker.Plan) string {
	counts, total := map[string]int{}, len(p.LeftOut)+p.Undecoded
	for _, l := range p.LeftOut {
		short, _, _ := strings.Cut(l.Why, ":") // what follows is of the one marker
		counts[templates.Sentence(short).Short]++
	}
	if p.Undecoded > 0 {
		counts["could not be decoded"] += p.Undecoded
	}
	if total == 0 {
		return ""
	}
	reasons := make([]string, 0, len(counts))
	for why := range counts {
		reasons = append(reasons, why)
	}
	slices.SortFunc(reasons, func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	if len(reasons) == 1 {
		return templates.Number(total) + " left out: " + reasons[0]
	}
	for i, why := range reasons {
		reasons[i] = templates.Number(counts[why]) + " " + why
	}
	return templates.Number(total) + " left out: " + strings.Join(reasons, ", ")
}

// leftLines are the markers that a plan does not touch, each with its reason.
func leftLines(p marker.Plan, now time.Time) []templates.LeftLine {
	var lines []templates.LeftLine
	for _, l := range p.LeftOut {
		lines = append(lines, templates.LeftLine{ID: show.Key(cmp.Or(l.ID, l.Key)), Why: templates.Sentence(show.ReadableTimes(l.Why, now))})
	}
	if p.Undecoded > 0 {
		lines = append(lines, templates.LeftLine{
			ID:  templates.Sentence(show.Counted(p.Undecoded, "marker") + " of the list"),
			Why: templates.Sentence("could not be decoded: such markers are never changed; they are in the list of what could not be decoded"),
		})
	}
	return lines
}

// seenAt is when a marker was read: what is said of it stands as of then.
func seenAt(g dedup.Sighting, now time.Time) time.Time {
	if g.At.IsZero() {
		return now
	}
	return g.At.In(now.Location())
}

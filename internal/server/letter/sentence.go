package letter

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// countText is how many messages a plan moves, as far as it was looked: of a whole queue all that are ready.
func countText(p move.Plan) string {
	n, unseen := int64(p.Going()), max(0, p.Ready-int64(p.Scanned))
	bounded := func(n int64) string {
		if p.Most > 0 {
			n = min(n, p.Most)
		}
		return Messages(n)
	}
	switch {
	case len(p.Request.Refs) > 0, unseen == 0, p.Most > 0 && n >= p.Most:
		return bounded(n)
	case p.Request.Whole && p.Scanned == 0:
		return bounded(p.Ready)
	case p.Request.Whole:
		return "up to " + bounded(p.Ready-(int64(p.Matching)-n))
	default:
		return templates.Number(n) + " seen, up to " + bounded(n+unseen)
	}
}

// Title says what a plan does, as a heading and a button: "Requeue 2,318 messages".
func Title(p move.Plan) string {
	return MoveWord(p.Request.Do) + " " + countText(p)
}

// Sentence says a plan in one sentence: "Requeue 2,318 messages from orders.dlq to orders."
func Sentence(p move.Plan) string {
	text := Title(p)
	switch p.Request.Do {
	case admin.Discard:
		text += " from " + show.Within(p.Source.Name) + " to the parking queue " + show.Within(p.Parking)
	case admin.RestoreLetters:
		text += " from the parking queue " + show.Within(cmp.Or(p.Parking, p.Source.Name)) + " to " + show.Within(p.Request.Queue)
	default:
		text += " from " + show.Within(p.Source.Name) + " to " + targetsText(TargetNames(p))
	}
	details := moveDetails(p)
	if p.Request.Canary > 0 {
		details = append(details, "the first "+show.Plural(p.Request.Canary, "one", templates.Number(p.Request.Canary))+" as a canary")
	}
	if p.Request.Filter != "" {
		details = append(details, "selected by "+show.Within(p.Request.Filter))
	}
	if len(details) > 0 {
		text += ": " + strings.Join(details, ", ")
	}
	return text + "."
}

// moveDetails says in numbers which of the selected messages stay, and which go twice.
func moveDetails(p move.Plan) []string {
	var details []string
	left, repeat := 0, "may run a second time"
	for class, n := range p.Classes {
		if p.Choices[class] == preflight.LeaveOut {
			left += n
		}
	}
	if going := int64(p.Going()); p.Most > 0 && going > p.Most { // which of them are moved is not known: the order is that of the queue
		details, repeat = append(details, "the first of "+templates.Number(going)), repeat+" if they are among those"
	}
	for _, d := range []struct {
		n    int
		word string
	}{{left, "left out"}, {p.Nowhere, "with " + NowhereWord}, {p.Worn, WornWord}, {p.MayRepeat, repeat}} {
		if d.n > 0 {
			details = append(details, templates.Number(d.n)+" "+d.word)
		}
	}
	return details
}

// TargetNames are the queues of a plan, those with most messages first.
func TargetNames(p move.Plan) []string {
	names := slices.Sorted(maps.Keys(p.Targets))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(p.Targets[b], p.Targets[a]) })
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

// targetsText names the queues that messages go to: "orders", or "orders and 2 more queues".
func targetsText(names []string) string {
	switch len(names) {
	case 0:
		return "the queues that they came from"
	case 1, 2:
		short := make([]string, len(names))
		for i, n := range names {
			short[i] = show.Within(n)
		}
		return strings.Join(short, " and ")
	default:
		return fmt.Sprintf("%s and %d more queues", show.Within(names[0]), len(names)-1)
	}
}

// The words for messages that stay whatever is chosen.
const (
	NowhereWord = "nowhere to go"
	WornWord    = "requeued too often"
	BeyondWord  = "not needed"
)

// RateText writes a rate as it was asked for: "2,000 per second", "0.5 per second".
func RateText(n float64) string {
	if n == math.Trunc(n) {
		return templates.Number(n) + " per second"
	}
	return strconv.FormatFloat(n, 'g', 6, 64) + " per second"
}

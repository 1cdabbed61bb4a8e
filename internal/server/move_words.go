package server

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// moveCount is how many messages a plan moves, as far as it was looked: of a whole queue all that are ready.
func moveCount(p move.Plan) string {
	n, unseen := int64(p.Going()), max(0, p.Ready-int64(p.Scanned))
	bounded := func(n int64) string {
		if p.Most > 0 {
			n = min(n, p.Most)
		}
		return messages(n)
	}
	switch {
	case len(p.Request.Refs) > 0, unseen == 0, p.Most > 0 && n >= p.Most:
		return bounded(n)
	case p.Request.Whole && p.Scanned == 0:
		return bounded(p.Ready)
	case p.Request.Whole:
		return "up to " + bounded(p.Ready-(int64(p.Matching)-n))
	default:
		return templates.Number(float64(n)) + " seen, up to " + bounded(n+unseen)
	}
}

// moveTitle says what a plan does, as a heading and a button: "Requeue 2,318 messages".
func moveTitle(p move.Plan) string {
	return moveWord(p.Request.Do) + " " + moveCount(p)
}

// moveSentence says a plan in one sentence: "Requeue 2,318 messages from orders.dlq to orders."
func moveSentence(p move.Plan) string {
	text := moveTitle(p)
	switch p.Request.Do {
	case admin.Discard:
		text += " from " + show.Within(p.Source.Name) + " to the parking queue " + show.Within(p.Parking)
	case admin.RestoreLetters:
		text += " from the parking queue " + show.Within(cmp.Or(p.Parking, p.Source.Name)) + " to " + show.Within(p.Request.Queue)
	default:
		text += " from " + show.Within(p.Source.Name) + " to " + targetsText(targetNames(p))
	}
	details := moveDetails(p)
	if p.Request.Canary > 0 {
		details = append(details, "the first "+show.Agree(p.Request.Canary, "one", templates.Number(float64(p.Request.Canary)))+" as a canary")
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
		details, repeat = append(details, "the first of "+templates.Number(float64(going))), repeat+" if they are among those"
	}
	for _, d := range []struct {
		n    int
		word string
	}{{left, "left out"}, {p.Nowhere, "with " + nowhereWord}, {p.Worn, wornWord}, {p.MayRepeat, repeat}} {
		if d.n > 0 {
			details = append(details, templates.Number(float64(d.n))+" "+d.word)
		}
	}
	return details
}

// targetNames are the queues of a plan, those with most messages first.
func targetNames(p move.Plan) []string {
	names := slices.Sorted(maps.Keys(p.Targets))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(p.Targets[b], p.Targets[a]) })
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

func targetLines(p move.Plan) []templates.GroupLine {
	const most = 10
	var lines []templates.GroupLine
	for _, name := range targetNames(p) {
		if len(lines) == most {
			break
		}
		n := p.Targets[name]
		if p.Most > 0 {
			n = min(n, int(p.Most))
		}
		lines = append(lines, templates.GroupLine{Value: templates.Plain(name, show.KeyLimit), Count: n})
	}
	return lines
}

func moveFacts(p move.Plan, now time.Time) []templates.Fact {
	facts := []templates.Fact{
		{Label: "Made", Value: show.Moment(p.Made, now).Text + " by " + templates.Plain(p.By, show.NameLimit).Short},
		{Label: "Holds until", Value: show.Moment(p.Made.Add(admin.PlanLife), now).Text},
		{Label: "Broker", Value: templates.Plain(p.Broker, show.NameLimit).Short},
		{Label: "In the queue", Value: templates.Number(float64(p.Ready))},
	}
	if f, err := deadletter.ParseFilter(p.Request.Filter, now); err == nil {
		facts = append(facts, boundFacts(f, now)...)
	}
	if p.Scanned > 0 {
		facts = append(facts, templates.Fact{Label: "Looked at", Value: templates.Number(float64(p.Scanned)) + " at " + show.Moment(p.ScannedAt, now).Text},
			templates.Fact{Label: "Of those selected", Value: templates.Number(float64(p.Matching))})
	}
	if p.Most > 0 {
		facts = append(facts, templates.Fact{Label: "At most", Value: messages(p.Most)})
	}
	if p.Takes > 0 {
		facts = append(facts, templates.Fact{Label: "Takes about", Value: templates.Span(max(time.Second, p.Takes))})
	}
	return facts
}

// foretoldWords say for which times the classes of a plan hold. The rate is part of the plan: another one makes another plan.
func foretoldWords(p move.Plan, now time.Time) string {
	if p.Request.Do != admin.Requeue || len(p.Letters) == 0 || p.Letters[0].Expected.IsZero() {
		return ""
	}
	first, last := p.Letters[0].Expected, p.Letters[len(p.Letters)-1].Expected
	times := "the first is expected at its consumer at " + show.Moment(first, now).Text
	if len(p.Letters) > 1 {
		times += ", the last that is listed at " + show.Moment(last, now).Text
	}
	return "The classes are foretold for this rate and canary, as if it were started at once: " + times + ". Another rate can change them. Each marker is read again right before its message is sent; " +
		"one that may run twice only by then is left, and the job says so."
}

// moveDanger reports whether a plan does what cannot be taken back and costs something.
func moveDanger(p move.Plan) bool {
	for _, class := range []preflight.Class{preflight.ClassSwallowed, preflight.ClassPerhapsSwallowed, preflight.ClassMayRunTwice, preflight.ClassUnknown} {
		if p.Request.Do == admin.Requeue && p.Classes[class] > 0 && p.Choices[class] == preflight.KeepAsIs {
			return true
		}
	}
	return p.Confirm != "" || p.MayRepeat > 0
}

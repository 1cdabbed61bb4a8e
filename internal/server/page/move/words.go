package move

import (
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

func targetLines(p move.Plan) []templates.GroupLine {
	const most = 10
	var lines []templates.GroupLine
	for _, name := range letter.TargetNames(p) {
		if len(lines) == most {
			break
		}
		n := p.Targets[name]
		if p.Most > 0 {
			n = min(n, int(p.Most))
		}
		lines = append(lines, templates.GroupLine{Value: show.Key(name), Count: n})
	}
	return lines
}

func moveFacts(p move.Plan, now time.Time) []templates.Fact {
	facts := show.Facts{
		{Label: "Made", Value: show.Moment(p.Made, now).Text + " by " + show.ShortName(p.By)},
		{Label: "Holds until", Value: show.Moment(p.Made.Add(admin.PlanLife), now).Text},
		{Label: "Broker", Value: show.ShortName(p.Broker)},
		{Label: "In the queue", Value: templates.Number(p.Ready)},
	}
	if f, err := deadletter.ParseFilter(p.Request.Filter, now); err == nil {
		facts = append(facts, letter.BoundFacts(f, now)...)
	}
	if p.Scanned > 0 {
		facts = append(facts, templates.Fact{Label: "Looked at", Value: templates.Number(p.Scanned) + " at " + show.Moment(p.ScannedAt, now).Text},
			templates.Fact{Label: "Of those selected", Value: templates.Number(p.Matching)})
	}
	if p.Most > 0 {
		facts.Add("At most", letter.Messages(p.Most))
	}
	if p.Takes > 0 {
		facts.Add("Takes about", templates.Span(max(time.Second, p.Takes)))
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

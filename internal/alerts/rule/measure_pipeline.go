package rule

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// withLeave returns the limits at which a tier is left that is entered at these.
func withLeave(l dedup.Limits, leave func(float64) float64) dedup.Limits {
	for _, limit := range []*float64{&l.DuplicateWarning, &l.DuplicateSevere, &l.DuplicateEmergency, &l.LatencyWarning, &l.LatencySevere} {
		*limit = leave(*limit)
	}
	return l
}

// duplicateRate judges as the page does.
func duplicateRate(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement {
	l := p.Pipeline.Limits
	enters, holds := judgeDuplicates(p.Windows, l), judgeDuplicates(p.Windows, withLeave(l, r.Limits.leave))
	limits := Limits{Warning: &l.DuplicateWarning, Severe: &l.DuplicateSevere, Emergency: &l.DuplicateEmergency}
	return j.asPage(enters, holds, enters.figure.Low, limits)
}

// ackLatency judges as the page does.
func ackLatency(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement {
	l := p.Pipeline.Limits
	enters, holds := judgeLatency(p.Windows, l), judgeLatency(p.Windows, withLeave(l, r.Limits.leave))
	value := enters.figure.Low
	if enters.figure.Bounded() && enters.tier <= dedup.Normal { // what proves it is the upper one
		value = enters.figure.High
	}
	return j.asPage(enters, holds, value, Limits{Warning: &l.LatencyWarning, Severe: &l.LatencySevere})
}

// asPage takes over what the functions of the page say by the limits and by those at which a tier is left.
func (j Judgement) asPage(enters, holds judgement, value float64, l Limits) Judgement {
	if enters.tier == dedup.TierUnknown {
		return j.Unjudged(HealthNoData, enters.why)
	}
	j.Enters, j.Holds, j.Why = enters.tier, max(enters.tier, holds.tier), enters.why
	j.Value, j.N, j.Window = value, enters.figure.N, seen(enters.figure)
	if limit := l.of(max(enters.tier, dedup.Warning)); limit != nil {
		j.Limit = *limit
	}
	return j
}

// deadLetters counts the dead letters that are surely the pipeline's, beyond those that were acknowledged.
func deadLetters(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement {
	j = j.waiting(r, p.DeadLetters, p.FreshDeadLetters(), p.OwnAcknowledged())
	if j.Health == HealthOK && p.DeadLetters.IsInterval() {
		j.Evidence = append(j.Evidence, p.DeadLetters.Why+". A rule of its own judges the queue.")
	}
	return j
}

// waiting judges dead letters beyond those that were acknowledged.
func (j Judgement) waiting(r Rule, f dedup.Figure, fresh float64, acknowledged int64) Judgement {
	if why := usable(f); why != "" {
		return j.Unjudged(HealthNoData, "dead letters unknown: "+why)
	}
	what := Figured(fresh, "dead letter")
	if acknowledged > 0 {
		what += fmt.Sprintf(" beside %s acknowledged", Number(float64(acknowledged)))
	}
	return j.judged(r, what, fresh)
}

// hourly judges a figure of the last hour.
func hourly(word string, pick func(*dedup.WindowFigures) dedup.Figure) func(*dedup.PipelineStatus, Rule, Judgement) Judgement {
	return func(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement {
		return j.hourly(pick(windowOf(p, time.Hour)), r, word)
	}
}

// hourly judges what was counted in the last hour. Where the history is shorter it is what was counted since it began, and not that per
// hour: one event in the first minute would be sixty.
func (j Judgement) hourly(f dedup.Figure, r Rule, word string) Judgement {
	j.Window = time.Hour
	if why := usable(f); why != "" {
		return j.Unjudged(HealthNoData, word+"s unknown: "+why)
	}
	value := f.Low
	if f.Partial() && Finite(f.N) && f.N < value {
		value, j.Window = f.N, f.Covered
	}
	j = j.judged(r, atLeastWord(f)+Figured(value, word)+" in "+Seconds(j.Window), value)
	if j.Limit > 0 {
		j.Why += " in an hour"
	}
	return j
}

func atLeastWord(f dedup.Figure) string {
	if f.AtLeast {
		return "at least "
	}
	return ""
}

// windowOf returns the figures of a window; those of an unknown one where there is none.
func windowOf(p *dedup.PipelineStatus, d time.Duration) *dedup.WindowFigures {
	for i := range p.Windows {
		if p.Windows[i].Window == d {
			return &p.Windows[i]
		}
	}
	return &dedup.WindowFigures{Window: d}
}

// stuckMarkers judges how many markers are stuck. The finding also tells of those that are overdue and of which nothing is known,
// which no figure counts.
func stuckMarkers(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement {
	why := usable(p.Stuck)
	if why == "" && p.Stuck.Low >= 1 {
		return j.judged(r, "stuck markers: "+CountText(p.Stuck), p.Stuck.Low)
	}
	if found := j.judged(r, "no stuck marker", 0).raisedBy(p.Findings, "stuck_markers"); why == "" || found.Enters > dedup.Normal {
		return found
	}
	return j.Unjudged(HealthNoData, "stuck markers unknown: "+why)
}

// markersWithoutExpiry judges markers that never expire, where the finding says that the scheme gives them an expiry.
func markersWithoutExpiry(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement {
	const kind = "marker_without_expiry"
	f := p.MarkersNoExpiry
	if why := usable(f); why != "" {
		return j.Unjudged(HealthNoData, "markers without an expiry unknown: "+why)
	}
	found := ofKinds(p.Findings, []string{kind})
	if len(found) == 0 {
		return j.judged(r, "no marker lacks the expiry that its scheme gives it", 0)
	}
	return j.judged(r, Figured(f.Low, "marker")+" without an expiry", f.Low).raisedBy(found, kind)
}

// looping judges redeliveries of messages that cannot proceed, by their count and by the finding.
func looping(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement {
	const over = 15 * time.Minute
	f := windowOf(p, over).Looping
	j.Window = seenOf(over, f)
	if why := usable(f); why != "" { // the finding rests on the broker alone, so that its absence says something
		j.Why = "no message loops, by the broker's redeliveries; how many deliveries met work in flight is unknown: " + why
		j.Enters, j.Holds = dedup.Normal, dedup.Normal
		return j.raisedBy(p.Findings, "looping")
	}
	what := fmt.Sprintf("%s%s redeliveries of messages that cannot proceed in %s", atLeastWord(f), Number(f.Low), Span(j.Window))
	return j.judged(r, what, f.Low).raisedBy(p.Findings, "looping")
}

// unackedWithoutAck judges for how long nothing was acked while deliveries are out. Work that really takes longer than the
// lowest limit raises the limits.
func unackedWithoutAck(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement {
	if why := usable(p.Gauges[dedup.Unacked]); why != "" {
		return j.Unjudged(HealthNoData, "unacked messages unknown: "+why)
	}
	if p.Gauges[dedup.Unacked].Low <= 0 {
		return j.judged(r, "no message is unacked", 0)
	}
	quiet, known := sinceAck(j.At, p)
	if !known {
		return j.Unjudged(HealthNoData, "when a message was last acked is not known yet")
	}
	out := Figured(p.Gauges[dedup.Unacked].Low, "unacked message")
	r.Limits = r.Limits.atLeast(p.Pipeline.MaxProcessing.Seconds())
	return j.judged(r, fmt.Sprintf("%s and no ack for %s", out, secondsText(quiet)), quiet)
}

// sinceAck returns for how many seconds nothing was acked. Where no ack was ever seen it is as long as that has been watched.
func sinceAck(now time.Time, p *dedup.PipelineStatus) (float64, bool) {
	if !p.LastActivity.IsZero() {
		return max(0, now.Sub(p.LastActivity).Seconds()), true
	}
	for i := len(p.Windows) - 1; i >= 0; i-- {
		if f := p.Windows[i].Messages; usable(f) == "" && f.High == 0 && !f.AtLeast {
			return f.Covered.Seconds(), true
		}
	}
	return 0, false
}

// atLeast returns the limits with none of them below a value.
func (l Limits) atLeast(least float64) Limits {
	for _, limit := range l.all() {
		if *limit != nil && **limit < least {
			*limit = &least
		}
	}
	return l
}

// lossKinds are the findings that tell of messages that left without their work.
func lossKinds() []string { return []string{"messages_given_up", "failed_and_acked"} }

// lostMessages judges the messages of the last hour that were acked although their work was not done, and those that were given
// up. Where consumers may publish what they give up to a queue that is listed, the finding alone can say whether it is lost.
func lostMessages(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement {
	w := windowOf(p, time.Hour)
	j.Window = time.Hour
	var parts, whys []string
	var sum float64
	for _, f := range []struct {
		word   string
		figure dedup.Figure
	}{{"swallowed", w.Swallowed}, {"lost", w.Lost}} {
		if why := usable(f.figure); why != "" {
			whys = append(whys, f.word+" messages unknown: "+why)
			continue
		}
		if f.word == "lost" && len(p.Pipeline.DeadLetterQueues) > 0 && len(ofKinds(p.Findings, []string{"messages_given_up"})) > 0 {
			continue
		}
		sum += f.figure.Low
		part := CountText(f.figure) + " " + f.word
		if known := seenOf(time.Hour, f.figure); known < time.Hour {
			part += " in the " + Span(known) + " that are known"
		}
		parts = append(parts, part)
	}
	if len(whys) == 2 {
		j.Why, j.Enters, j.Holds = strings.Join(whys, "; "), dedup.Normal, dedup.Normal
		if j = j.raisedBy(p.Findings, lossKinds()...); j.Enters > dedup.Normal {
			return j
		}
		return j.Unjudged(HealthNoData, strings.Join(whys, "; "))
	}
	j.Evidence = whys
	if slices.ContainsFunc(p.Findings, func(f dedup.Finding) bool { return f.Drops }) {
		j.Evidence = append(j.Evidence, "Dead letters that are dropped are not counted here: the rule findings tells of them.")
	}
	return j.judged(r, "messages without their work in 1 h: "+cmp.Or(strings.Join(parts, ", "), "none that is certain"), sum).
		raisedBy(p.Findings, lossKinds()...)
}

// doubleEffects judges work that was done twice in the last 24 hours. That of before is told by the finding, at its tier.
func doubleEffects(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement {
	const over = 24 * time.Hour
	f := windowOf(p, over).DoubleEffects
	j.Window = seenOf(over, f)
	why := usable(f)
	value, what := 0.0, "double effects unknown: "+why
	if why == "" {
		value, what = f.Low, fmt.Sprintf("double effects in %s: %s", Span(j.Window), CountText(f))
	}
	j = j.judged(r, what, value).raisedBy(p.Findings, "double_effects")
	if why != "" && j.Enters <= dedup.Normal {
		return j.Unjudged(HealthNoData, what)
	}
	return j
}

// failureRate judges the share of attempts that failed, over the first window with enough of them.
func failureRate(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement {
	l := dedup.Limits{Window: 15 * time.Minute, MinMessages: r.MinCount}
	f, w, why := firstJudgeable(p.Windows, l, func(w *dedup.WindowFigures) dedup.Figure { return w.FailureRate })
	if w == nil {
		return j.Unjudged(HealthNoData, "failure rate unknown: "+why)
	}
	j.Value, j.N, j.Window = f.Low, f.N, w.Window
	if f.Partial() {
		j.Window = seen(f)
	}
	j.Enters, j.Holds, j.Limit = r.Limits.ratioTiers(f.Low, f.N)
	rests := fmt.Sprintf(" (%s of %s attempts in %s)", Number(math.Round(f.Low*f.N)), Number(f.N), SeenIn(w, f))
	return j.sentenced(r, "failure rate "+percentRange(f), rests)
}

func readyMessages(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement {
	if why := usable(p.Gauges[dedup.Ready]); why != "" {
		return j.Unjudged(HealthNoData, "backlog unknown: "+why)
	}
	return j.judged(r, Figured(p.Gauges[dedup.Ready].Low, "message")+" waiting", p.Gauges[dedup.Ready].Low)
}

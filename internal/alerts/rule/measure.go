package rule

import (
	"cmp"
	"fmt"
	"slices"

	"dedup-dashboard/internal/dedup"
)

// IsMeasure reports whether there is a measure of a name.
func IsMeasure(name string) bool {
	_, ok := measures()[name]
	return ok
}

// A measure is a figure of the snapshot that rules judge.
type measure struct {
	// kind is what it judges; empty where it names the kind of each subject.
	kind SubjectKind
	// judge fills value, tiers, health and why into the judgement of one subject.
	judge func(in *Round, s *Subject, r Rule, j Judgement) Judgement
	// rests are the kinds of sources that it rests on, of those that the subject has.
	rests []string
	// findings are the kinds of findings that it judges along.
	findings []string
	// tiers are those that it reaches by what is no limit of a rule: limits of the pipeline, intervals without an answer, and findings,
	// which have tiers of their own.
	tiers []dedup.Tier
	// limits says why a rule of it takes none; empty where it does.
	limits string
}

// ofPipeline is a measure of pipelines that rests on sources of these kinds.
func ofPipeline(judge func(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement, rests ...string) measure {
	return measure{kind: OfPipeline, rests: rests, judge: func(_ *Round, s *Subject, r Rule, j Judgement) Judgement { return judge(s.pipeline, r, j) }}
}

// reaching returns a measure that reaches tiers by what is no limit of a rule, by findings of these kinds among others.
func (m measure) reaching(tiers []dedup.Tier, findings ...string) measure {
	m.tiers, m.findings = tiers, findings
	return m
}

// refusing returns a measure whose rules take no limits.
func (m measure) refusing(limits string) measure {
	m.limits = limits
	return m
}

// measures returns the measures by name.
func measures() map[string]measure {
	const ofThePage = "they are those of the page; set them under limits of the pipeline or of alerts"
	broker, store, reported := "broker", "store", "reported"
	type tiers = []dedup.Tier
	warning, severe, emergency := dedup.Warning, dedup.Severe, dedup.Emergency
	return map[string]measure{
		"duplicate_rate":            ofPipeline(duplicateRate, broker, store, reported).reaching(tiers{warning, severe, emergency}).refusing(ofThePage),
		"ack_latency":               ofPipeline(ackLatency, broker, reported).reaching(tiers{warning, severe}).refusing(ofThePage),
		"dead_letters":              ofPipeline(deadLetters, broker).reaching(nil, "dead_letters_wait"),
		"dead_letter_inflow":        ofPipeline(hourly("dead letter", func(w *dedup.WindowFigures) dedup.Figure { return w.DeadLetterInflow }), broker),
		"stuck_markers":             ofPipeline(stuckMarkers, broker, store).reaching(tiers{warning, severe}, "stuck_markers"),
		"markers_without_expiry":    ofPipeline(markersWithoutExpiry, store).reaching(tiers{warning, severe}, "marker_without_expiry"),
		"looping":                   ofPipeline(looping, broker, store, reported).reaching(tiers{severe}, "looping"),
		"unacked_without_ack":       ofPipeline(unackedWithoutAck, broker),
		"lost_messages":             ofPipeline(lostMessages, broker, store, reported).reaching(tiers{warning, severe, emergency}, lossKinds()...),
		"double_effects":            ofPipeline(doubleEffects, broker, store).reaching(tiers{warning, emergency}, "double_effects"),
		"failure_rate":              ofPipeline(failureRate, store, reported),
		"ack_timeouts":              ofPipeline(hourly("ack timeout", func(w *dedup.WindowFigures) dedup.Figure { return w.AckTimeouts }), broker),
		"ready":                     ofPipeline(readyMessages, broker),
		"consumer_restarts":         ofPipeline(hourly("consumer restart", func(w *dedup.WindowFigures) dedup.Figure { return w.ConsumerRestarts }), broker),
		"shared_dead_letters":       ofQueue(sharedDeadLetters),
		"shared_dead_letter_inflow": ofQueue(sharedInflow),
		"broker_alarm":              ofBroker(nodesInAlarm),
		"node_down":                 ofBroker(nodesDown),
		"partition":                 ofBroker(nodesCutOff),
		"minority":                  ofBroker(queuesWithoutService),
		"source_unreachable":        measure{judge: unreachable}.reaching(tiers{warning}),
		"watchdog":                  ofSelf(watchdog).reaching(tiers{warning}).refusing("the watchdog always fires at warning; leave the limits out"),
		"evaluation_late":           ofSelf(evaluationLate),
		"outbox_age":                ofSelf(outboxAge),
		"disk_used":                 ofSelf(diskUsed),
		"deliveries_failed":         ofSelf(deliveriesFailed),
		"receiver_faults":           ofSelf(receiverFaults),
		"audit_refused":             ofSelf(auditRefused),
	}
}

// withDown weighs that sources are down, as the page does: a tier above normal that others show stays true, and nothing falls;
// otherwise nothing can be told.
func (j Judgement) withDown(down []dedup.SourceHealth, rests []string) Judgement {
	missing := slices.DeleteFunc(slices.Clone(down), func(h dedup.SourceHealth) bool { return !slices.Contains(rests, h.Kind) })
	switch {
	case len(missing) == 0:
		return j
	case j.Health == HealthOK && j.Enters > dedup.Normal:
		j.Holds = dedup.Emergency
		j.Evidence = append(slices.Clone(j.Evidence), downSentence(missing))
		return j
	}
	return j.unread(missing...)
}

// unread says that nothing can be told because of sources that cannot be read, or were not yet.
func (j Judgement) unread(down ...dedup.SourceHealth) Judgement {
	h := HealthNoData
	if slices.ContainsFunc(down, func(source dedup.SourceHealth) bool { return source.Tried }) {
		h = HealthError
	}
	j = j.Unjudged(h, downSentence(down))
	for _, source := range down {
		if source.Tried {
			j.Unread = append(j.Unread, source.Name)
		}
	}
	return j
}

// Unjudged says why nothing can be told.
func (j Judgement) Unjudged(h Health, why string) Judgement {
	j.Health, j.Why = h, why
	j.Enters, j.Holds, j.Value, j.Limit, j.N = dedup.TierUnknown, dedup.TierUnknown, 0, 0, 0
	return j
}

// judged fills in a value, its tiers by the limits of the rule, and value against limit in one line that begins with what it is.
func (j Judgement) judged(r Rule, what string, value float64) Judgement {
	j.Value = value
	j.Enters, j.Holds, j.Limit = r.Limits.tiers(value)
	return j.sentenced(r, what, "")
}

// sentenced says value against limit: what the value is, the limit, and what it rests on.
func (j Judgement) sentenced(r Rule, what, rests string) Judgement {
	j.Why = what
	switch {
	case j.Limit == 0:
	case j.Enters > dedup.Normal:
		j.Why += fmt.Sprintf(", at or above the %s limit of %s", j.Enters, ValueText(j.Limit, j.Unit))
	case j.Value >= j.Limit:
		j.Why += ", too few to be sure of more than normal"
	default:
		j.Why += fmt.Sprintf(", below the %s limit of %s", r.Limits.lowest(), ValueText(j.Limit, j.Unit))
	}
	j.Why += rests
	return j
}

// usable returns why a figure can set no tier; empty when it can.
func usable(f dedup.Figure) string {
	switch {
	case !f.Known():
		return cmp.Or(f.Why, "no data")
	case f.Quality == dedup.Estimated:
		return "only estimated, and an estimate sets no tier"
	case !Finite(f.Low, f.High):
		return "the figure is not a number"
	}
	return ""
}

// raisedBy raises a judgement to the worst finding of these kinds, whose words are then told.
func (j Judgement) raisedBy(findings []dedup.Finding, kinds ...string) Judgement {
	worst, n := worstFinding(ofKinds(findings, kinds))
	if n == 0 || worst.Tier < j.Enters {
		return j
	}
	if worst.Tier > j.Enters || j.Enters <= dedup.Normal {
		j.Why, j.Limit = worst.Text, 0
	}
	if worst.Evidence != "" {
		j.Evidence = append(slices.Clone(j.Evidence), worst.Evidence)
	}
	j.Enters = worst.Tier
	j.Holds = max(j.Holds, j.Enters)
	return j
}

func ofKinds(findings []dedup.Finding, kinds []string) []dedup.Finding {
	var out []dedup.Finding
	for _, f := range findings {
		if slices.Contains(kinds, f.Kind) {
			out = append(out, f)
		}
	}
	return out
}

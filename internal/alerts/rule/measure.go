package rule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"dedup-dashboard/internal/dedup"
)

// A MeasureFunc judges every subject of a round that the rule covers by one measure of the snapshot.
type MeasureFunc func(in *Round, r Rule) []Judgement

// Measure returns the measure of a name, and false where there is none.
func Measure(name string) (MeasureFunc, bool) {
	m, ok := measures()[name]
	return m.judge, ok
}

// A measure is a figure of the snapshot that rules judge.
type measure struct {
	// kind is what it judges; empty where it names the kind of each subject.
	kind  SubjectKind
	judge MeasureFunc
	// findings are the kinds of findings that it judges along.
	findings []string
	// tiers are those that it reaches by what is no limit of a rule: limits of the pipeline, intervals without an answer, and findings,
	// which have tiers of their own.
	tiers []dedup.Tier
	// limits says why a rule of it takes none; empty where it does.
	limits string
}

func measureNames() []string { return slices.Sorted(maps.Keys(measures())) }

// measures returns the measures by name.
func measures() map[string]measure {
	const ofThePage = "they are those of the page; set them under limits of the pipeline or of alerts"
	broker, store, reported := "broker", "store", "reported"
	type tiers = []dedup.Tier
	warning, severe, emergency := dedup.Warning, dedup.Severe, dedup.Emergency
	return map[string]measure{
		"duplicate_rate": {kind: OfPipeline, judge: byPipeline(duplicateRate, broker, store, reported),
			tiers: tiers{warning, severe, emergency}, limits: ofThePage},
		"ack_latency": {kind: OfPipeline, judge: byPipeline(ackLatency, broker, reported),
			tiers: tiers{warning, severe}, limits: ofThePage},
		"dead_letters":       {kind: OfPipeline, judge: byPipeline(deadLetters, broker), findings: []string{"dead_letters_wait"}},
		"dead_letter_inflow": {kind: OfPipeline, judge: byPipeline(deadLetterInflow, broker)},
		"stuck_markers": {kind: OfPipeline, judge: byPipeline(stuckMarkers, broker, store),
			tiers: tiers{warning, severe}, findings: []string{"stuck_markers"}},
		"markers_without_expiry": {kind: OfPipeline, judge: byPipeline(markersWithoutExpiry, store),
			tiers: tiers{warning, severe}, findings: []string{"marker_without_expiry"}},
		"looping": {kind: OfPipeline, judge: byPipeline(looping, broker, store, reported),
			tiers: tiers{severe}, findings: []string{"looping"}},
		"unacked_without_ack": {kind: OfPipeline, judge: byPipeline(unackedWithoutAck, broker)},
		"lost_messages": {kind: OfPipeline, judge: byPipeline(lostMessages, broker, store, reported),
			tiers: tiers{warning, severe, emergency}, findings: lossKinds()},
		"double_effects": {kind: OfPipeline, judge: byPipeline(doubleEffects, broker, store),
			tiers: tiers{warning, emergency}, findings: []string{"double_effects"}},
		"failure_rate":              {kind: OfPipeline, judge: byPipeline(failureRate, store, reported)},
		"ack_timeouts":              {kind: OfPipeline, judge: byPipeline(ackTimeouts, broker)},
		"ready":                     {kind: OfPipeline, judge: byPipeline(readyMessages, broker)},
		"consumer_restarts":         {kind: OfPipeline, judge: byPipeline(consumerRestarts, broker)},
		"shared_dead_letters":       {kind: OfQueue, judge: byQueue(sharedDeadLetters)},
		"shared_dead_letter_inflow": {kind: OfQueue, judge: byQueue(sharedInflow)},
		"broker_alarm":              {kind: OfBroker, judge: byBroker(nodesInAlarm)},
		"node_down":                 {kind: OfBroker, judge: byBroker(nodesDown)},
		"partition":                 {kind: OfBroker, judge: byBroker(nodesCutOff)},
		"minority":                  {kind: OfBroker, judge: byBroker(queuesWithoutService)},
		"source_unreachable":        {judge: sourcesUnreachable, tiers: tiers{warning}},
		"watchdog": {kind: OfDashboard, judge: bySelf(watchdog),
			tiers: tiers{warning}, limits: "the watchdog always fires at warning; leave the limits out"},
		"evaluation_late":   {kind: OfDashboard, judge: bySelf(evaluationLate)},
		"outbox_age":        {kind: OfDashboard, judge: bySelf(outboxAge)},
		"disk_used":         {kind: OfDashboard, judge: bySelf(diskUsed)},
		"deliveries_failed": {kind: OfDashboard, judge: bySelf(deliveriesFailed)},
		"receiver_faults":   {kind: OfDashboard, judge: bySelf(receiverFaults)},
		"audit_refused":     {kind: OfDashboard, judge: bySelf(auditRefused)},
	}
}

// A pipelineMeasure fills value, tiers, health and why into the judgement of one pipeline.
type pipelineMeasure func(in *Round, p *dedup.PipelineStatus, r Rule, j Judgement) Judgement

// byPipeline judges each pipeline by a measure that rests on sources of these kinds.
func byPipeline(measure pipelineMeasure, rests ...string) MeasureFunc {
	return func(in *Round, r Rule) []Judgement {
		why := in.Stale()
		out := make([]Judgement, 0, len(in.Snapshot.Pipelines))
		for i := range in.Snapshot.Pipelines {
			p := &in.Snapshot.Pipelines[i]
			if !r.Covers(in.labels[i]) {
				continue
			}
			j := in.judgement(r, OfPipeline, p.Pipeline.Name, in.labels[i])
			if why != "" {
				out = append(out, j.Unjudged(HealthError, why))
				continue
			}
			out = append(out, measure(in, p, r, j).withDown(p.Down, rests))
		}
		return out
	}
}

// withDown weighs that sources are down, as the page does: a tier above normal that others show stays true, and nothing falls;
// otherwise nothing can be told.
func (j Judgement) withDown(down []dedup.SourceHealth, rests []string) Judgement {
	var missing []dedup.SourceHealth
	tried := false
	for _, h := range down {
		if slices.Contains(rests, h.Kind) {
			missing, tried = append(missing, h), tried || h.Tried
		}
	}
	switch {
	case len(missing) == 0:
		return j
	case j.Health == HealthOK && j.Enters > dedup.Normal:
		j.Holds = dedup.Emergency
		j.Evidence = append(slices.Clone(j.Evidence), downSentence(missing))
		return j
	case tried:
		return j.unread(HealthError, missing)
	}
	return j.unread(HealthNoData, missing)
}

// unread says that nothing can be told because of sources that cannot be read, or were not yet.
func (j Judgement) unread(h Health, down []dedup.SourceHealth) Judgement {
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

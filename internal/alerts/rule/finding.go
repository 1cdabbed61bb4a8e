package rule

import (
	"cmp"
	"slices"

	"dedup-dashboard/internal/dedup"
)

// ofFindings judges each pipeline by its findings of the kinds of a rule, each at its own tier: one alert per pipeline, with the
// worst finding as its reason and the others as evidence. What its sources that are down would show cannot be told.
func ofFindings(kinds []string) measure {
	rests := []string{"broker", "store", "reported"}
	if !slices.Contains(kinds, EveryOtherFinding) {
		rests = findingSources(kinds)
	}
	return ofPipeline(func(p *dedup.PipelineStatus, r Rule, j Judgement) Judgement {
		return judgeFindings(j, p, r.findingsOf(p, j.Labels), rests)
	}, rests...)
}

// findingsOf returns the findings of a pipeline that the rule judges.
func (r Rule) findingsOf(p *dedup.PipelineStatus, labels map[string]string) []dedup.Finding {
	if !slices.Contains(r.Findings, EveryOtherFinding) {
		return ofKinds(p.Findings, r.Findings)
	}
	var out []dedup.Finding
	for _, f := range p.Findings {
		elsewhere := slices.ContainsFunc(r.others, func(o Rule) bool { return slices.Contains(o.kinds, f.Kind) && o.Covers(labels) })
		if !elsewhere {
			out = append(out, f)
		}
	}
	return out
}

// findingSources are the kinds of sources that findings of these kinds come from.
func findingSources(kinds []string) []string {
	ofBroker := []string{"no_consumers", "auto_ack_consumers", "queue_missing", "backlog_growing"}
	ofStore := []string{"markers_evicted", "markers_vanished", "eviction_possible", "markers_undecodable", "markers_without_id", "store_cpu"}
	broker, store := true, true
	for _, kind := range kinds {
		broker, store = broker && slices.Contains(ofBroker, kind), store && slices.Contains(ofStore, kind)
	}
	switch {
	case broker:
		return []string{"broker"}
	case store:
		return []string{"store"}
	}
	return []string{"broker", "store", "reported"}
}

// judgeFindings judges by the worst finding. Before the first pass over its store a pipeline without findings is not normal yet:
// those that a pass brings were there before a restart, too.
func judgeFindings(j Judgement, p *dedup.PipelineStatus, found []dedup.Finding, rests []string) Judgement {
	j.Unit = dedup.Count
	worst, n := worstFinding(found)
	if n == 0 {
		if p.Pipeline.Store != "" && slices.Contains(rests, "store") && !p.PassAge.Known() {
			return j.Unjudged(HealthNoData, cmp.Or(p.PassAge.Why, "no complete pass over the store yet"))
		}
		j.Enters, j.Holds, j.Why = dedup.Normal, dedup.Normal, "nothing was found"
		return j
	}
	j.Enters, j.Holds, j.Value, j.Why = worst.Tier, worst.Tier, float64(n), worst.Text
	if worst.Evidence != "" {
		j.Evidence = append(j.Evidence, worst.Evidence)
	}
	told := false
	for _, f := range found {
		if !told && f == worst {
			told = true
			continue
		}
		if f.Tier > dedup.Normal {
			j.Evidence = append(j.Evidence, f.Text)
		}
	}
	return j
}

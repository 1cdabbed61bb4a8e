package collector

import (
	"strings"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/internal/text"
)

// judgeMarkers fills in the evidence of each store, and what it means for the pipelines that use the store.
func (m *maker) judgeMarkers(s *dedup.Snapshot) {
	statuses := make(map[string]*dedup.PipelineStatus, len(s.Pipelines))
	for i := range s.Pipelines {
		statuses[s.Pipelines[i].Pipeline.Name] = &s.Pipelines[i]
	}
	for i, w := range m.stores {
		st := &s.Stores[i]
		st.Evidence = w.evidence(s.At, statuses)
		count, why := finding.Verdicts{}, source.WhyDown("store "+text.Name(st.Name), st.Health)
		switch {
		case why != "":
		case st.Stats.Pass == nil:
			why = "no complete pass over the store yet"
		case st.Stats.Pass.Unfit():
			why = finding.Unfit(st.Name, st.Stats.Pass)
		default:
			st.Evidence.Bound = w.bound(st)
			count = finding.CountVerdicts(st.Stats.Pass, st.Evidence, st.Scheme)
		}
		if count.Overdue+count.Counts[dedup.Looping] > 0 {
			w.wantTopologies(s.At)
		}
		for _, p := range w.users {
			if p.store == w { // else it is the store of the locks beside its markers
				count.Show(statuses[p.Name], st, why)
			}
		}
	}
	for _, p := range m.pipelines {
		if p.store == nil {
			finding.Verdicts{}.Show(statuses[p.Name], nil, "the pipeline has no store")
		}
	}
}

// bound is what the deliveries that were out tell of the overdue markers of the last pass; nothing where several brokers share them.
func (w *storeWatch) bound(st *dedup.StoreStatus) dedup.Bound {
	if len(w.queues) != 1 || st.Evidence.Missing != "" {
		return dedup.Bound{}
	}
	out := w.queues[0].told.OutUntil(st.Evidence.At)
	return dedup.BoundOf(st.Stats.Pass.OldestProcessing, out, st.Evidence, st.Scheme)
}

// wantTopologies reads the connections of the brokers again, because a marker waits for news of them.
func (w *storeWatch) wantTopologies(now time.Time) {
	for _, s := range w.queues {
		s.broker.read.WantNews(now)
	}
}

// verdictLabel is a verdict as the value of a label.
func verdictLabel(v dedup.Verdict) string { return strings.ReplaceAll(string(v), " ", "_") }

// keepVerdicts adds the verdicts as they were judged.
func keepVerdicts(into counter.Batch, s *dedup.PipelineStatus) {
	for v, f := range s.Verdicts {
		into.Figure(series.ProcessingMarkers, f, "pipeline", s.Pipeline.Name, "verdict", verdictLabel(v))
	}
}

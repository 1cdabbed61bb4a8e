package collector

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

const (
	verdictSource = "verdicts on the markers of the last complete pass"
	// manyStuck is the number of stuck markers from which on they are severe.
	manyStuck = 10
)

// A verdictCount is what the verdicts on the listed markers of one store come to.
type verdictCount struct {
	counts map[dedup.Verdict]int64
	// total is how many markers are processing, listed how many of them were judged.
	total, listed int64
	// overdue are those of which nothing can be told although they are older than honest work takes.
	overdue int64
	// doubtful are the markers that could not be decoded: each may be stuck.
	doubtful int64
	// worst is the oldest stuck marker, or the oldest overdue one; nil when there is none.
	worst *dedup.Marker
	ids   []string
}

// countVerdicts judges every listed processing marker of a pass.
func countVerdicts(p *dedup.Pass, e dedup.Evidence, s dedup.Scheme) verdictCount {
	c := verdictCount{counts: make(map[dedup.Verdict]int64), listed: int64(len(p.OldestProcessing)), doubtful: p.States[dedup.StateUnknown]}
	c.total = max(p.States[dedup.Processing], c.listed)
	var stuck, overdue *dedup.Marker
	for i := range p.OldestProcessing {
		m := &p.OldestProcessing[i]
		v := dedup.VerdictOf(*m, e, s)
		c.counts[v]++
		switch {
		case v.Stuck():
			stuck = olderOf(stuck, m)
			if len(c.ids) < 5 {
				c.ids = append(c.ids, m.Name())
			}
		case v == dedup.CannotTell && e.Overdue(*m, s):
			c.overdue++
			overdue = olderOf(overdue, m)
		}
	}
	if c.worst = stuck; stuck == nil {
		c.worst = overdue
	}
	return c
}

// olderOf returns the older of two markers; one whose beginning is not known is the older one.
func olderOf(a, b *dedup.Marker) *dedup.Marker {
	if a == nil || b.Since.Before(a.Since) {
		return b
	}
	return a
}

func (c verdictCount) stuck() int64 {
	return c.counts[dedup.ProbablyDead] + c.counts[dedup.Orphan] + c.counts[dedup.Looping]
}

// judgeMarkers fills in the evidence of each store, and what it means for the pipelines that use the store.
func (c *Collector) judgeMarkers(s *dedup.Snapshot) {
	statuses := make(map[string]*dedup.PipelineStatus, len(s.Pipelines))
	for i := range s.Pipelines {
		statuses[s.Pipelines[i].Pipeline.Name] = &s.Pipelines[i]
	}
	for i, w := range c.stores {
		st := &s.Stores[i]
		st.Evidence = w.evidence(s.At, statuses)
		count, why := verdictCount{}, down("store "+name(st.Name), st.Health)
		switch {
		case why != "":
		case st.Stats.Pass == nil:
			why = "no complete pass over the store yet"
		case st.Stats.Pass.Unfit():
			why = unfit(st.Name, st.Stats.Pass)
		default:
			st.Evidence.Bound = w.bound(st)
			count = countVerdicts(st.Stats.Pass, st.Evidence, st.Scheme)
		}
		if count.overdue+count.counts[dedup.Looping] > 0 {
			w.wantTopologies(s.At)
		}
		for _, p := range w.users {
			if p.store == w { // else it is the store of the locks beside its markers
				count.show(statuses[p.Name], st, why)
			}
		}
	}
	for _, p := range c.pipelines {
		if p.store == nil {
			verdictCount{}.show(statuses[p.Name], nil, "the pipeline has no store")
		}
	}
}

// bound is what the deliveries that were out tell of the overdue markers of the last pass; nothing where several brokers share them.
func (w *storeWatch) bound(st *dedup.StoreStatus) dedup.Bound {
	if len(w.shores) != 1 || st.Evidence.Missing != "" {
		return dedup.Bound{}
	}
	s := w.shores[0]
	s.broker.live.mu.Lock()
	readings := s.shore.outUntil(st.Evidence.At)
	s.broker.live.mu.Unlock()
	return dedup.BoundOf(st.Stats.Pass.OldestProcessing, readings, st.Evidence, st.Scheme)
}

// wantTopologies reads the connections of the brokers again, because a marker waits for news of them.
func (w *storeWatch) wantTopologies(now time.Time) {
	for _, s := range w.shores {
		s.broker.wantNews(now)
	}
}

// show puts the counts into figures and a finding of one pipeline; why says for what reason there are none.
func (c verdictCount) show(p *dedup.PipelineStatus, st *dedup.StoreStatus, why string) {
	p.Verdicts = make(map[dedup.Verdict]dedup.Figure)
	if why == "" && len(st.Scheme.States) > 0 && !st.Scheme.Lock && !slices.Contains(st.Scheme.States, dedup.Processing) {
		if why = st.Scheme.Blind; why == "" {
			why = "markers of this scheme do not show whether work is under way"
		}
	}
	if why != "" {
		p.Stuck = dedup.Unknown(dedup.Count, why)
		for _, v := range dedup.Verdicts() {
			p.Verdicts[v] = dedup.Unknown(dedup.Count, why)
		}
		return
	}
	for _, v := range dedup.Verdicts() {
		p.Verdicts[v] = c.figure(c.counts[v], st)
	}
	p.Stuck = c.figure(c.stuck(), st)
	switch n := c.overdue; {
	case st.Evidence.Missing != "" && c.listed > 0:
		p.Stuck = dedup.Unknown(dedup.Count, st.Evidence.Missing)
	case n > 0 && p.Stuck.Why == "":
		p.Stuck.High += float64(n)
		p.Stuck.Low = max(p.Stuck.Low, float64(c.least(st.Evidence.Bound)))
		p.Stuck.Value = p.Stuck.Low
		p.Stuck.Why = fmt.Sprintf("of %s more, older than honest work takes, it cannot be told", counted(n, "marker"))
	}
	p.Findings = append(p.Findings, c.finding(st)...)
}

// least is how many markers are stuck at least: those whose verdict says so, or the dead and those of the bound, which looping ones
// may be among.
func (c verdictCount) least(b dedup.Bound) int64 {
	return max(c.stuck(), c.counts[dedup.ProbablyDead]+c.counts[dedup.Orphan]+b.Gone)
}

func (c verdictCount) figure(n int64, st *dedup.StoreStatus) dedup.Figure {
	f := dedup.Exact(dedup.Derived, dedup.Count, float64(n), st.Evidence.At, verdictSource)
	f.N = float64(c.listed)
	if c.doubtful > 0 {
		f.AtLeast = true
		f.Why = fmt.Sprintf("at least: %s could not be decoded and may be processing", counted(c.doubtful, "marker"))
	}
	if c.listed < c.total {
		f.AtLeast = true
		f.Why = fmt.Sprintf("at least: the oldest %s of %s were judged", grouped(c.listed), counted(c.total, "processing marker"))
	}
	return f
}

// finding tells of stuck markers, and of those that are overdue while nobody can tell what became of their owners.
func (c verdictCount) finding(st *dedup.StoreStatus) []dedup.Finding {
	if c.stuck() == 0 && c.overdue == 0 {
		return nil
	}
	e := st.Evidence
	atLeast := ""
	if c.listed < c.total {
		atLeast = "At least "
	}
	var parts []string
	if n := c.stuck(); n > 0 {
		parts = append(parts, fmt.Sprintf("%s%s %s stuck: %s", atLeast, counted(n, "marker"), verb(n, "is", "are"), c.split()))
	}
	if n := c.overdue; n > 0 {
		longest := span(e.Limit())
		if len(parts) == 0 {
			parts = append(parts, fmt.Sprintf("%s%s %s processing for longer than %s, the longest that honest work takes, and it cannot be told whether anybody works on %s",
				atLeast, counted(n, "marker"), verb(n, "has been", "have been"), longest, verb(n, "it", "them")))
		} else {
			parts = append(parts, fmt.Sprintf("of %s more, processing for longer than %s, it cannot be told", grouped(n), longest))
		}
	}
	if b := e.Bound; c.overdue > 0 && b.Gone > 0 {
		parts = append(parts, fmt.Sprintf("%s of these or more belong to nobody", grouped(b.Gone)))
		if c.counts[dedup.Looping] > 0 {
			parts[len(parts)-1] = fmt.Sprintf("%s of these and the looping ones, or more, belong to nobody", grouped(b.Gone))
		}
	}
	tier := dedup.Warning
	if c.least(e.Bound) >= manyStuck {
		tier = dedup.Severe
	}
	_, reasons := dedup.Judge(*c.worst, e, st.Scheme)
	evidence := fmt.Sprintf("The oldest is of message %s: %s", name(c.worst.Name()), plain(strings.Join(reasons, "; "), 600))
	if len(c.ids) > 1 {
		evidence += "; ids, for example: " + someOf(c.ids)
	}
	evidence += "; judged as of the pass that began at " + e.At.UTC().Format("15:04:05 MST")
	return []dedup.Finding{{
		Kind: "stuck_markers", Tier: tier, Text: strings.Join(parts, "; "), Evidence: evidence,
		Mend: "Look for a consumer that died while working, then clear the markers: each holds its message back, or lets it be skipped, until it expires. " +
			"If the work is just slow, raise max_processing of the pipeline.",
	}}
}

// split names the kinds of stuck markers with their numbers.
func (c verdictCount) split() string {
	var parts []string
	for _, v := range dedup.Verdicts() {
		if n := c.counts[v]; n > 0 && v.Stuck() {
			parts = append(parts, grouped(n)+" "+string(v))
		}
	}
	return strings.Join(parts, ", ")
}

// verdictLabel is a verdict as the value of a label.
func verdictLabel(v dedup.Verdict) string { return strings.ReplaceAll(string(v), " ", "_") }

// keepVerdicts adds the verdicts as they were judged.
func keepVerdicts(into batch, s *dedup.PipelineStatus) {
	for v, f := range s.Verdicts {
		into.figure(series.ProcessingMarkers, f, "pipeline", s.Pipeline.Name, "verdict", verdictLabel(v))
	}
}

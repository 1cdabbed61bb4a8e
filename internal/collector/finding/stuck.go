package finding

import (
	"fmt"
	"slices"
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const (
	verdictSource = "verdicts on the markers of the last complete pass"
	// manyStuck is the number of stuck markers from which on they are severe.
	manyStuck = 10
)

// A Verdicts is what the verdicts on the listed markers of one store come to.
type Verdicts struct {
	Counts map[dedup.Verdict]int64
	// total is how many markers are processing, listed how many of them were judged.
	total, listed int64
	// Overdue are those of which nothing can be told although they are older than processing takes.
	Overdue int64
	// doubtful are the markers that could not be decoded: each may be stuck.
	doubtful int64
	// worst is the oldest stuck marker, or the oldest overdue one; nil when there is none.
	worst *dedup.Marker
	ids   []string
}

// CountVerdicts judges every listed processing marker of a pass.
func CountVerdicts(p *dedup.Pass, e dedup.Evidence, s dedup.Scheme) Verdicts {
	c := Verdicts{Counts: make(map[dedup.Verdict]int64), listed: int64(len(p.OldestProcessing)), doubtful: p.States[dedup.StateUnknown]}
	c.total = max(p.States[dedup.Processing], c.listed)
	var stuck, overdue *dedup.Marker
	for i := range p.OldestProcessing {
		m := &p.OldestProcessing[i]
		v := dedup.VerdictOf(*m, e, s)
		c.Counts[v]++
		switch {
		case v.Stuck():
			stuck = olderOf(stuck, m)
			if len(c.ids) < 5 {
				c.ids = append(c.ids, m.Name())
			}
		case v == dedup.CannotTell && e.Overdue(*m, s):
			c.Overdue++
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

func (c Verdicts) stuck() int64 {
	return c.Counts[dedup.ProbablyDead] + c.Counts[dedup.Orphan] + c.Counts[dedup.Looping]
}

// Show puts the counts into figures and a finding of one pipeline; why says for what reason there are none.
func (c Verdicts) Show(p *dedup.PipelineStatus, st *dedup.StoreStatus, why string) {
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
		p.Verdicts[v] = c.figure(c.Counts[v], st)
	}
	p.Stuck = c.figure(c.stuck(), st)
	switch n := c.Overdue; {
	case st.Evidence.Missing != "" && c.listed > 0:
		p.Stuck = dedup.Unknown(dedup.Count, st.Evidence.Missing)
	case n > 0 && p.Stuck.Why == "":
		p.Stuck.High += float64(n)
		p.Stuck.Low = max(p.Stuck.Low, float64(c.least(st.Evidence.Bound)))
		p.Stuck.Value = p.Stuck.Low
		p.Stuck.Why = fmt.Sprintf("of %s more, older than processing takes, it cannot be told", text.Counted(n, "marker"))
	}
	p.Findings = append(p.Findings, c.finding(st)...)
}

// least is how many markers are stuck at least: those whose verdict says so, or the dead and those of the bound, which looping ones
// may be among.
func (c Verdicts) least(b dedup.Bound) int64 {
	return max(c.stuck(), c.Counts[dedup.ProbablyDead]+c.Counts[dedup.Orphan]+b.Gone)
}

func (c Verdicts) figure(n int64, st *dedup.StoreStatus) dedup.Figure {
	f := dedup.Exact(dedup.Derived, dedup.Count, float64(n), st.Evidence.At, verdictSource)
	f.N = float64(c.listed)
	if c.doubtful > 0 {
		f.AtLeast = true
		f.Why = fmt.Sprintf("at least: %s could not be decoded and may be processing", text.Counted(c.doubtful, "marker"))
	}
	if c.listed < c.total {
		f.AtLeast = true
		f.Why = fmt.Sprintf("at least: the oldest %s of %s were judged", text.Grouped(c.listed), text.Counted(c.total, "processing marker"))
	}
	return f
}

// finding tells of stuck markers, and of those that are overdue while nobody can tell what became of their owners.
func (c Verdicts) finding(st *dedup.StoreStatus) []dedup.Finding {
	if c.stuck() == 0 && c.Overdue == 0 {
		return nil
	}
	e := st.Evidence
	atLeast := ""
	if c.listed < c.total {
		atLeast = "At least "
	}
	var parts []string
	if n := c.stuck(); n > 0 {
		parts = append(parts, fmt.Sprintf("%s%s %s stuck: %s", atLeast, text.Counted(n, "marker"), text.Agree(n, "is", "are"), c.split()))
	}
	if n := c.Overdue; n > 0 {
		longest := text.Span(e.Limit())
		if len(parts) == 0 {
			parts = append(parts, fmt.Sprintf("%s%s %s processing for longer than %s, the longest that processing takes, and it cannot be told whether anybody works on %s",
				atLeast, text.Counted(n, "marker"), text.Agree(n, "has been", "have been"), longest, text.Agree(n, "it", "them")))
		} else {
			parts = append(parts, fmt.Sprintf("of %s more, processing for longer than %s, it cannot be told", text.Grouped(n), longest))
		}
	}
	if b := e.Bound; c.Overdue > 0 && b.Gone > 0 {
		parts = append(parts, fmt.Sprintf("%s of these or more belong to nobody", text.Grouped(b.Gone)))
		if c.Counts[dedup.Looping] > 0 {
			parts[len(parts)-1] = fmt.Sprintf("%s of these and the looping ones, or more, belong to nobody", text.Grouped(b.Gone))
		}
	}
	tier := dedup.Warning
	if c.least(e.Bound) >= manyStuck {
		tier = dedup.Severe
	}
	_, reasons := dedup.Judge(*c.worst, e, st.Scheme)
	evidence := fmt.Sprintf("The oldest is of message %s: %s", text.Name(c.worst.Name()), text.Plain(strings.Join(reasons, "; "), 600))
	if len(c.ids) > 1 {
		evidence += "; ids, for example: " + text.SomeNames(c.ids)
	}
	evidence += "; judged as of the pass that began at " + e.At.UTC().Format("15:04:05 MST")
	return []dedup.Finding{{
		Kind: "stuck_markers", Tier: tier, Text: strings.Join(parts, "; "), Evidence: evidence,
		Remedy: "Look for a consumer that died while working, then clear the markers: each holds its message back, or lets it be skipped, until it expires. " +
			"If the work is just slow, raise max_processing of the pipeline.",
	}}
}

// split names the kinds of stuck markers with their numbers.
func (c Verdicts) split() string {
	var parts []string
	for _, v := range dedup.Verdicts() {
		if n := c.Counts[v]; n > 0 && v.Stuck() {
			parts = append(parts, text.Grouped(n)+" "+string(v))
		}
	}
	return strings.Join(parts, ", ")
}

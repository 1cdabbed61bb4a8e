package overview

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// Query is the state of the overview that lives in its address.
type Query struct {
	text  string
	tiers []dedup.Tier
	// label and value select pipelines by one label; label is empty when none is selected.
	label string
	value string
	// order sorts by a column. The default is the worst first.
	order list.Order
	page  int
}

const perPage = 50

func worstFirst() list.Order { return list.Order{By: "tier", Descending: true} }

// ParseQuery reads the parameters of the overview.
func ParseQuery(values url.Values) (Query, error) {
	var q Query
	err := list.Read(values, q.params()...)
	return q, err
}

func (q *Query) params() []list.Param {
	return []list.Param{
		list.Text("q", &q.text, web.MaxText),
		list.Many("tier", &q.tiers, dedup.ParseTier, dedup.Tier.String, show.TierWords),
		list.Func("label", q.readLabel, func() string {
			if q.label == "" {
				return ""
			}
			return q.label + "=" + q.value
		}),
		list.SortBy(&q.order, worstFirst(), list.Keys(columns())),
		list.PageNumber(&q.page),
	}
}

func (q *Query) readLabel(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if s != "" && (!ok || name == "") {
		return list.Bad("label", "must have the form name=value")
	}
	q.label, q.value = name, value
	return nil
}

// Address is the overview with this query.
func (q Query) Address(base string) string { return list.Address(base+"/", q.params()...) }

// columns are the columns of the overview, and what each sorts by.
func columns() []list.Column[show.Judged] {
	rank := func(f func(show.Judged) dedup.Figure) func(show.Judged) list.Rank {
		return func(p show.Judged) list.Rank { return list.ByNumber(knownValue(f(p))) }
	}
	down := func(key string) list.Order { return list.Order{By: key, Descending: true} }
	return []list.Column[show.Judged]{
		{Head: "Tier", Key: "tier", Offered: worstFirst(), Words: "worst first", Rank: func(p show.Judged) list.Rank { return list.ByNumber(worst(p)) }},
		{Head: "Risk", Key: "risk", Offered: down("risk"), Words: "risk, highest first", Rank: rankOfRisk},
		{Head: "Pipeline", Key: "name", Up: true, Offered: list.Order{By: "name"}, Words: "name", Rank: func(p show.Judged) list.Rank { return list.ByText(strings.ToLower(p.Pipeline.Name)) }},
		{Head: "Duplicate rate", Number: true, Key: "duplicates", Offered: down("duplicates"), Words: "duplicate rate, highest first", Rank: rank(rankedRate)},
		{Head: "Last hour"},
		{Head: "Mean ack latency", Number: true, Key: "latency", Offered: down("latency"), Words: "mean ack latency, highest first", Rank: rank(rankedLatency)},
		{Head: "Dead letters", Number: true, Key: "dead-letters", Offered: down("dead-letters"), Words: "dead letters, highest first", Rank: rank(rankedDead)},
		{Head: "Processing", Number: true, Key: "processing", Offered: down("processing"), Words: "processing markers, highest first",
			Rank: rank(func(p show.Judged) dedup.Figure { return show.Processing(p.PipelineStatus) })},
		{Head: "Backlog", Number: true, Key: "backlog", Offered: down("backlog"), Words: "backlog, highest first", Rank: rank(func(p show.Judged) dedup.Figure { return p.Gauges[dedup.Ready] })},
		{Head: "Consumers", Number: true, Key: "consumers", Offered: list.Order{By: "consumers"}, Words: "consumers, lowest first",
			Rank: rank(func(p show.Judged) dedup.Figure { return p.Gauges[dedup.Consumers] })},
		{Head: "Last ack", Number: true, Key: "activity", Offered: list.Order{By: "activity"}, Words: "last ack, lowest first",
			Rank: func(p show.Judged) list.Rank { return list.ByTime(p.LastActivity) }},
	}
}

func knownValue(f dedup.Figure) float64 {
	if !f.Known() {
		return math.NaN()
	}
	return f.Value
}

func rankOfRisk(p show.Judged) list.Rank {
	if p.Verdict.Risk == dedup.RiskUnknown {
		return list.Rank{}
	}
	return list.ByNumber(float64(p.Verdict.Risk))
}

func rankedRate(p show.Judged) dedup.Figure {
	return show.ShownRate(p, show.Figures(p.PipelineStatus, p.Pipeline.Limits.Window))
}

func rankedLatency(p show.Judged) dedup.Figure {
	f := show.ShownLatency(p, show.Figures(p.PipelineStatus, p.Pipeline.Limits.Window))
	if f.Bounded() {
		f.Value = f.High
	}
	return f
}

// rankedDead are the dead letters of a pipeline; those of a shared queue may be its own.
func rankedDead(p show.Judged) dedup.Figure {
	f := p.DeadLetters
	f.Value = f.High
	return f
}

// worst orders by tier, within a tier by what it may be, and within that by the duplicate rate.
func worst(p show.Judged) float64 {
	score := -100 * float64(p.Verdict.Tier.Rank())
	if p.Verdict.Possible > p.Verdict.Tier && p.Verdict.Tier != dedup.TierUnknown {
		score += 10 * float64(p.Verdict.Possible-p.Verdict.Tier)
	}
	if rate := knownValue(rankedRate(p)); !math.IsNaN(rate) {
		score += math.Min(rate, 1) * 9
	}
	return score
}

// sortPipelines returns the pipelines in an order. Of equals those come first whose sources cannot be read; then they go by name.
func sortPipelines(all []show.Judged, o list.Order) []show.Judged {
	return list.Sorted(all, columns(), o, func(a, b show.Judged) int {
		return cmp.Or(-cmp.Compare(min(1, len(a.Down)), min(1, len(b.Down))), show.CompareText(a.Pipeline.Name, b.Pipeline.Name))
	})
}

func (q Query) filtered() bool {
	return q.text != "" || len(q.tiers) > 0 || q.label != ""
}

// matches reports whether a pipeline passes the filter.
func (q Query) matches(p *dedup.PipelineStatus, tier dedup.Tier) bool {
	if len(q.tiers) > 0 && !slices.Contains(q.tiers, tier) {
		return false
	}
	if q.label != "" && p.Pipeline.Labels[q.label] != q.value {
		return false
	}
	if q.text == "" {
		return true
	}
	text := strings.ToLower(q.text)
	if strings.Contains(strings.ToLower(p.Pipeline.Name), text) {
		return true
	}
	return slices.ContainsFunc(p.Pipeline.Queues, func(name string) bool {
		return strings.Contains(strings.ToLower(name), text)
	})
}

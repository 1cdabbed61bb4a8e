package alerts

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// windowWord stands in a PromQL expression for the span that is judged.
const windowWord = "$window"

// windowSample replaces windowWord where an expression is checked: a duration of the same length, so that places stay true.
const windowSample = "000015m"

// ratioWindows are the spans that a ratio is taken over: the next longer one where the one before holds too few events.
func ratioWindows() []time.Duration {
	return []time.Duration{15 * time.Minute, time.Hour, 24 * time.Hour}
}

// CheckExpr reports what is wrong with the PromQL of a rule, as an error of kind invalid that names the place. $window stands for
// the span that is judged.
func CheckExpr(expr string) error {
	return series.CheckQuery(strings.ReplaceAll(expr, windowWord, windowSample))
}

// promWindow writes a span as PromQL does.
func promWindow(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}

// A querier answers PromQL: the history.
type querier interface {
	Query(ctx context.Context, promql string, at time.Time) ([]series.Value, error)
}

// exprRules judges the rules whose value PromQL gives.
type exprRules struct {
	book    ruleBook
	history querier
}

// newExprRules returns the evaluator of those of the rules that PromQL gives the value of.
func newExprRules(rules []Rule, history querier) *exprRules {
	queries := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !isQuery(&r) && !r.Disabled })
	return &exprRules{book: newRuleBook(queries), history: history}
}

// Judge judges every subject by every rule. An expression is evaluated once for all its subjects. What goes wrong with one rule is a
// judgement of that rule; only the end of ctx is an error.
func (x *exprRules) Judge(ctx context.Context, snapshot *dedup.Snapshot, at time.Time) ([]Judgement, error) {
	all := subjectsOf(snapshot)
	asked := &answers{ctx: ctx, history: x.history, at: at, known: make(map[string]answer)}
	var out []Judgement
	for _, name := range x.book.names {
		for _, kind := range []SubjectKind{OfPipeline, OfBroker, OfStore, OfDashboard} {
			for rule, of := range x.assigned(name, all.byKind[kind]) {
				out = append(out, judgeQuery(rule, of, asked)...)
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("evaluate the PromQL rules: %w", err)
		}
	}
	return out, nil
}

// assigned yields each variant of a rule with the subjects that it holds for.
func (x *exprRules) assigned(name string, of []subject) func(yield func(*Rule, []*subject) bool) {
	var order []*Rule
	bound := make(map[*Rule][]*subject)
	for i := range of {
		rule, ok := x.book.find(name, of[i].kind, of[i].labels)
		if !ok || !isQuery(rule) {
			continue
		}
		if bound[rule] == nil {
			order = append(order, rule)
			bound[rule] = make([]*subject, 0, len(of))
		}
		bound[rule] = append(bound[rule], &of[i])
	}
	return func(yield func(*Rule, []*subject) bool) {
		for _, rule := range order {
			if !yield(rule, bound[rule]) {
				return
			}
		}
	}
}

// answers are those of the queries of one evaluation: variants of a rule ask for the same.
type answers struct {
	ctx     context.Context
	history querier
	at      time.Time
	known   map[string]answer
}

// An answer is what one query says of each subject.
type answer struct {
	values map[string]series.Value
	// twice says of a subject that has several values which they are.
	twice map[string]string
	err   error
}

// ask evaluates an expression over a span and sorts its values by subject.
func (a *answers) ask(kind SubjectKind, expr string, window time.Duration) answer {
	expr = strings.ReplaceAll(expr, windowWord, promWindow(window))
	id := string(kind) + " " + expr
	if known, ok := a.known[id]; ok {
		return known
	}
	values, err := a.history.Query(a.ctx, expr, a.at)
	got := answer{err: err}
	if err == nil {
		got = bySubject(kind, values)
	}
	a.known[id] = got
	return got
}

// bySubject sorts values by the label that names the subject. A value without that label is an error of the rule.
func bySubject(kind SubjectKind, values []series.Value) answer {
	got := answer{values: make(map[string]series.Value, len(values))}
	for _, v := range values {
		name := ""
		if kind != OfDashboard {
			if name = v.Labels[string(kind)]; name == "" {
				return answer{err: &dedup.Error{Kind: dedup.Invalid,
					Public: fmt.Sprintf("The expression gives a value without the label %s (%s): add by (%s)", kind, labelText(v.Labels), kind)}}
			}
		}
		if other, have := got.values[name]; have {
			if got.twice == nil {
				got.twice = make(map[string]string)
			}
			if got.twice[name] == "" {
				got.twice[name] = labelText(other.Labels) + " and " + labelText(v.Labels)
			}
			continue
		}
		got.values[name] = v
	}
	return got
}

// labelText writes a label set as PromQL does.
func labelText(labels map[string]string) string {
	parts := make([]string, 0, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, name+"="+series.Quote(labels[name]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// value returns the value of one subject, and false with a judgement that says why there is none to judge.
func (a answer) value(of *subject, j Judgement, what string) (float64, Judgement, bool) {
	switch v, have := a.values[of.name]; {
	case a.err != nil:
		return 0, j.unjudged(HealthError, dedup.PublicText(a.err)), false
	case a.twice[of.name] != "":
		return 0, j.unjudged(HealthError, fmt.Sprintf("the expression gives two values: %s; add by (%s)", a.twice[of.name], of.kind)), false
	case !have && len(of.down) > 0: // there is none because its source cannot be read: nothing may follow from that
		return 0, j.unjudged(HealthError, downSentence(of.down)), false
	case !have:
		return 0, j.unjudged(HealthNoData, what+" has no value"), false
	case !finite(v.Value):
		return 0, j.unjudged(HealthNoData, what+" is not a finite number"), false
	default:
		return v.Value, j, true
	}
}

// judgeQuery judges the subjects of one rule.
func judgeQuery(r *Rule, of []*subject, asked *answers) []Judgement {
	out := make([]Judgement, len(of))
	for i, s := range of {
		out[i] = Judgement{Key: s.key(r.Name), At: asked.at, Labels: s.labels, Unit: r.Unit}
	}
	if r.Numerator != "" {
		judgeRatios(r, of, out, asked)
		return out
	}
	got := asked.ask(r.Kind, r.Expr, ratioWindows()[0])
	for i, s := range of {
		v, j, ok := got.value(s, out[i], "the expression")
		if ok {
			j = j.judged(*r, said(r, v), v)
		}
		out[i] = j
	}
	return out
}

// judgeRatios takes the ratio over the first span that holds enough events, for each subject its own.
func judgeRatios(r *Rule, of []*subject, out []Judgement, asked *answers) {
	open := make([]int, len(of))
	for i := range of {
		open[i] = i
	}
	windows := ratioWindows()
	for step, window := range windows {
		if len(open) == 0 {
			return
		}
		below, above := asked.ask(r.Kind, r.Denominator, window), asked.ask(r.Kind, r.Numerator, window)
		var next []int
		for _, i := range open {
			j, enough := judgeRatio(r, of[i], out[i], window, below, above)
			if !enough && step < len(windows)-1 {
				next = append(next, i)
			}
			out[i] = longest(out[i], j)
		}
		open = next
	}
}

// longest keeps what the longest span with events said where a longer one has no value: the history may be younger than it.
func longest(before, now Judgement) Judgement {
	if now.Health == HealthNoData && now.N == 0 && before.N > 0 {
		before.Health = HealthNoData
		return before
	}
	return now
}

// judgeRatio judges one subject over one span, and returns false where a longer span may tell more.
func judgeRatio(r *Rule, of *subject, j Judgement, window time.Duration, below, above answer) (Judgement, bool) {
	j = Judgement{Key: j.Key, At: j.At, Labels: j.Labels, Unit: j.Unit, Window: window}
	n, j, ok := below.value(of, j, "the denominator")
	if !ok {
		return j, j.Health == HealthError
	}
	if n < r.MinCount || n <= 0 {
		j = j.unjudged(HealthNoData, fmt.Sprintf("too few to judge (%s in %s)", number(max(n, 0)), span(window)))
		j.N = max(n, 0)
		return j, false
	}
	hits, j, ok := above.value(of, j, "the numerator")
	if !ok {
		return j, true
	}
	if hits < 0 {
		return j.unjudged(HealthNoData, "the numerator is negative"), true
	}
	j.N, j.Value = n, hits/n
	if r.MinCount > 0 && r.Unit == dedup.Ratio {
		j.Enters, j.Holds, j.Limit = r.Limits.ratioTiers(j.Value, n)
	} else {
		j.Enters, j.Holds, j.Limit = r.Limits.tiers(j.Value)
	}
	return j.sentenced(*r, said(r, j.Value), counted(j)), true
}

// said names a value: what it is of, and how much.
func said(r *Rule, v float64) string {
	return firstNonEmpty(r.Title, r.Name) + " " + valueText(v, r.Unit)
}

// counted says what a ratio rests on.
func counted(j Judgement) string {
	switch {
	case j.N > 0 && j.Window > 0 && j.Unit == dedup.Ratio:
		return fmt.Sprintf(" (%s of %s in %s)", number(math.Round(j.Value*j.N)), number(j.N), span(j.Window))
	case j.N > 0 && j.Window > 0:
		return fmt.Sprintf(" (%s in %s)", number(j.N), span(j.Window))
	}
	return ""
}

package rule

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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

// A History answers PromQL at one time.
type History interface {
	At(at time.Time) series.Ask
}

// OverHistory judges the rules whose value PromQL gives.
type OverHistory struct {
	book    Book
	history History
}

// NewOverHistory returns the evaluator of those of the rules that PromQL gives the value of.
func NewOverHistory(rules []Rule, history History) *OverHistory {
	queries := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !r.IsQuery() && !r.Disabled })
	return &OverHistory{book: NewBook(queries), history: history}
}

// maxWorkers bounds how many rules are judged at once: the pages want the processor too.
const maxWorkers = 4

// Judge judges every subject by every rule. An expression is evaluated once for all its subjects. What goes wrong with one rule is a
// judgement of that rule; only the end of ctx is an error.
func (x *OverHistory) Judge(ctx context.Context, snapshot *dedup.Snapshot, at time.Time) ([]Judgement, error) {
	all := SubjectsOf(snapshot)
	asked := &answers{ctx: ctx, query: x.history.At(at), at: at, known: make(map[question]*answer)}
	said := make([][]Judgement, len(x.book.Names))
	var running errgroup.Group
	running.SetLimit(min(maxWorkers, runtime.GOMAXPROCS(0)))
	for i, name := range x.book.Names {
		running.Go(func() error {
			if ctx.Err() == nil {
				said[i] = x.judgeRule(name, all, asked)
			}
			return nil
		})
	}
	_ = running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("evaluate the rules over the history: %w", err)
	}
	return slices.Concat(said...), nil
}

// judgeRule judges the subjects of one rule, each by the variant that holds for it.
func (x *OverHistory) judgeRule(name string, all Subjects, asked *answers) []Judgement {
	var out []Judgement
	for _, kind := range []SubjectKind{OfPipeline, OfBroker, OfStore, OfDashboard} {
		subjects := all.ByKind[kind]
		for i := range subjects {
			s := &subjects[i]
			if r, ok := x.book.Find(name, kind, s.Labels); ok && r.IsQuery() {
				out = append(out, asked.judge(r, s))
			}
		}
	}
	return out
}

// answers are those of the queries of one evaluation: variants of a rule, and ratios of one denominator, ask for the same.
type answers struct {
	ctx   context.Context
	query series.Ask
	at    time.Time

	mu    sync.Mutex
	known map[question]*answer
}

// A question is an expression for the subjects of one kind.
type question struct {
	kind SubjectKind
	expr string
}

// An answer is what one query says of each subject.
type answer struct {
	once   sync.Once
	values map[string]float64
	// twice says of a subject that has several values which they are.
	twice map[string]string
	err   error
}

// ask evaluates an expression over a span and sorts its values by subject.
func (a *answers) ask(kind SubjectKind, expr string, window time.Duration) *answer {
	q := question{kind, strings.ReplaceAll(expr, windowWord, promWindow(window))}
	a.mu.Lock()
	got := a.known[q]
	if got == nil {
		got = new(answer)
		a.known[q] = got
	}
	a.mu.Unlock()
	got.once.Do(func() {
		values, err := a.query(a.ctx, q.expr)
		if got.err = err; err == nil {
			got.sort(kind, values)
		}
	})
	return got
}

// sort sorts values by the label that names the subject. A value without that label is an error of the rule.
func (a *answer) sort(kind SubjectKind, values []series.Value) {
	a.values = make(map[string]float64, len(values))
	first := make(map[string]int, len(values))
	for i, v := range values {
		name := ""
		if kind != OfDashboard {
			if name = v.Labels[string(kind)]; name == "" {
				a.err = &dedup.Error{Kind: dedup.Invalid,
					Public: fmt.Sprintf("The expression gives a value without the label %s (%s): add by (%s)", kind, labelText(v.Labels), kind)}
				return
			}
		}
		before, have := first[name]
		switch {
		case !have:
			first[name], a.values[name] = i, v.Value
		case a.twice[name] == "":
			if a.twice == nil {
				a.twice = make(map[string]string)
			}
			a.twice[name] = labelText(values[before].Labels) + " and " + labelText(v.Labels)
		}
	}
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
func (a *answer) value(of *Subject, j Judgement, what string) (float64, Judgement, bool) {
	switch v, have := a.values[of.Name]; {
	case a.err != nil:
		return 0, j.Unjudged(HealthError, dedup.PublicText(a.err)), false
	case a.twice[of.Name] != "":
		return 0, j.Unjudged(HealthError, fmt.Sprintf("the expression gives two values: %s; add by (%s)", a.twice[of.Name], of.Kind)), false
	case !have && len(of.down) > 0: // there is none because its source cannot be read: nothing may follow from that
		j = j.unread(of.down...)
		j.Health = HealthError
		return 0, j, false
	case !have:
		return 0, j.Unjudged(HealthNoData, what+" has no value"), false
	case !Finite(v):
		return 0, j.Unjudged(HealthNoData, what+" is not a finite number"), false
	default:
		return v, j, true
	}
}

// judge judges one subject by a rule.
func (a *answers) judge(r *Rule, s *Subject) Judgement {
	j := Judgement{Key: s.Key(r.Name), At: a.at, Labels: s.Labels, Unit: r.Unit}
	if r.Numerator != "" {
		return a.judgeRatio(r, s, j)
	}
	v, j, ok := a.ask(r.Kind, r.Expr, ratioWindows()[0]).value(s, j, "the expression")
	if ok {
		j = j.judged(*r, said(r, v), v)
	}
	return j
}

// judgeRatio takes the ratio over the first span that holds enough events. A numerator is asked for only where some subject has enough.
func (a *answers) judgeRatio(r *Rule, s *Subject, fresh Judgement) Judgement {
	short := fresh
	for _, window := range ratioWindows() {
		j := denominated(r, s, fresh, window, a.ask(r.Kind, r.Denominator, window))
		switch j.Health {
		case HealthOK:
			return divided(r, s, j, a.ask(r.Kind, r.Numerator, window))
		case HealthError:
			return j
		}
		short = longest(short, j)
	}
	return short
}

// longest keeps what the longest span with events said where a longer one has no value: the history may be younger than it.
func longest(before, now Judgement) Judgement {
	if before.Health == HealthNoData && before.N > 0 && now.N == 0 {
		return before
	}
	return now
}

// denominated begins the judgement of one subject over one span: OK with N events where they are enough.
func denominated(r *Rule, of *Subject, j Judgement, window time.Duration, below *answer) Judgement {
	j.Window = window
	n, j, ok := below.value(of, j, "the denominator")
	switch n = max(n, 0); {
	case ok && (n < r.MinCount || n == 0):
		j = j.Unjudged(HealthNoData, fmt.Sprintf("too few to judge (%s in %s)", Number(n), Span(window)))
		j.N = n
	case ok:
		j.N = n
	}
	return j
}

// divided judges one subject by the ratio over its denominator, which is N.
func divided(r *Rule, of *Subject, j Judgement, above *answer) Judgement {
	hits, j, ok := above.value(of, j, "the numerator")
	switch {
	case !ok:
		return j
	case hits < 0:
		return j.Unjudged(HealthNoData, "the numerator is negative")
	}
	j.Value = hits / j.N
	if r.MinCount > 1 && r.Unit == dedup.Ratio { // one event alone is never evidence, so that a rule that takes one asks for none
		j.Enters, j.Holds, j.Limit = r.Limits.ratioTiers(j.Value, j.N)
	} else {
		j.Enters, j.Holds, j.Limit = r.Limits.tiers(j.Value)
	}
	return j.sentenced(*r, said(r, j.Value), counted(j))
}

// said names a value: what it is of, and how much.
func said(r *Rule, v float64) string {
	return cmp.Or(r.Title, r.Name) + " " + ValueText(v, r.Unit)
}

// counted says what a ratio rests on.
func counted(j Judgement) string {
	switch {
	case j.N > 0 && j.Window > 0 && j.Unit == dedup.Ratio:
		return fmt.Sprintf(" (%s of %s in %s)", Number(math.Round(j.Value*j.N)), Number(j.N), Span(j.Window))
	case j.N > 0 && j.Window > 0:
		return fmt.Sprintf(" (%s in %s)", Number(j.N), Span(j.Window))
	}
	return ""
}

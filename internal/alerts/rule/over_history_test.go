package rule

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// evaluated is when the tests of rules over the history take place.
var evaluatedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// cannedHistory answers queries from a table, and counts them.
type cannedHistory struct {
	values map[string][]series.Value
	errs   map[string]error

	mu    sync.Mutex
	asked map[string]int
}

func (c *cannedHistory) At(time.Time) series.Ask { return c.ask }

func (c *cannedHistory) ask(_ context.Context, promql string) ([]series.Value, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		c.asked = make(map[string]int)
	}
	c.asked[promql]++
	return c.values[promql], c.errs[promql]
}

// valueFor is a value of one pipeline; more labels are given as name, value.
func valueFor(pipeline string, v float64, more ...string) series.Value {
	l := map[string]string{"pipeline": pipeline}
	for i := 0; i+1 < len(more); i += 2 {
		l[more[i]] = more[i+1]
	}
	return series.Value{Labels: l, At: evaluatedAt, Value: v}
}

// watching is a snapshot of pipelines of these names.
func watching(names ...string) *dedup.Snapshot {
	s := &dedup.Snapshot{Round: 1, At: evaluatedAt, Interval: 15 * time.Second, Brokers: []dedup.BrokerStatus{{Name: "main", Health: dedup.SourceHealth{Tried: true, OK: true}}}}
	for _, n := range names {
		s.Pipelines = append(s.Pipelines, dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: n, Broker: "main", Limits: dedup.DefaultLimits()}})
	}
	return s
}

func plainRule() Rule {
	return Rule{Name: "backlog", Title: "backlog", Kind: OfPipeline, Unit: dedup.Count, Expr: "ready", Limits: Limits{Warning: Limit(100), Severe: Limit(1000)}}
}

func shareRule() Rule {
	return Rule{Name: "failures", Title: "failure rate", Kind: OfPipeline, Unit: dedup.Ratio, MinCount: 50,
		Numerator: "failed[$window]", Denominator: "all[$window]", Limits: Limits{Warning: Limit(0.05), Severe: Limit(0.2)}}
}

// byQueries judges a snapshot by one set of rules, by subject.
func byQueries(t *testing.T, h History, snap *dedup.Snapshot, rules ...Rule) map[string]Judgement {
	t.Helper()
	js, err := NewOverHistory(rules, h).Judge(t.Context(), snap, evaluatedAt)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]Judgement)
	for _, j := range js {
		if _, twice := out[j.Key.Subject]; twice {
			t.Errorf("%s is judged twice", j.Key)
		}
		out[j.Key.Subject] = j
	}
	return out
}

func TestAValueIsJudgedByTheLimitsOfItsRule(t *testing.T) {
	for _, tt := range []struct {
		name   string
		value  float64
		enters dedup.Tier
		holds  dedup.Tier
		why    string
	}{
		{"below what ends warning is normal", 79, dedup.Normal, dedup.Normal, "below the warning limit of 100"},
		{"exactly what ends warning still holds it", 80, dedup.Normal, dedup.Warning, "100"},
		{"exactly the limit enters warning", 100, dedup.Warning, dedup.Warning, "at or above the warning limit of 100"},
		{"just below severe holds severe", 999, dedup.Warning, dedup.Severe, "at or above the warning limit"},
		{"exactly the severe limit enters severe", 1000, dedup.Severe, dedup.Severe, "at or above the severe limit of 1,000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &cannedHistory{values: map[string][]series.Value{"ready": {valueFor("orders", tt.value)}}}
			j := byQueries(t, h, watching("orders"), plainRule())["orders"]
			if j.Health != HealthOK || j.Enters != tt.enters || j.Holds != tt.holds || !strings.Contains(j.Why, tt.why) || j.Value != tt.value {
				t.Errorf("got %v, holds %v, %v, %q; want %v, holds %v, %q", j.Enters, j.Holds, j.Health, j.Why, tt.enters, tt.holds, tt.why)
			}
		})
	}
}

func TestARatioIsJudgedOverTheFirstSpanThatHoldsEnough(t *testing.T) {
	for _, tt := range []struct {
		name       string
		num, den   [3]float64 // 15m, 1h, 24h; negative: no value
		health     Health
		enters     dedup.Tier
		window     time.Duration
		n          float64
		why        string
		askedAfter int
	}{
		{"enough in 15 m", [3]float64{60, -1, -1}, [3]float64{1000, -1, -1}, HealthOK, dedup.Warning, 15 * time.Minute, 1000, "6.00 %, at or above the warning limit of 5.00 % (60 of 1,000 in 15 m)", 2},
		{"three of three are too few in every span", [3]float64{3, 3, 3}, [3]float64{3, 3, 3}, HealthNoData, dedup.TierUnknown, 24 * time.Hour, 3, "too few to judge (3 in 24 h)", 3},
		{"5 of 40 wait for the hour that holds 50", [3]float64{5, 20, -1}, [3]float64{40, 80, -1}, HealthOK, dedup.Severe, time.Hour, 80, "25.00 %", 3},
		{"the day is asked last", [3]float64{0, 1, 10}, [3]float64{1, 10, 100}, HealthOK, dedup.Warning, 24 * time.Hour, 100, "in 24 h", 4},
		{"three of 50 are not sure to be above half the limit", [3]float64{3, -1, -1}, [3]float64{50, -1, -1}, HealthOK, dedup.Normal, 15 * time.Minute, 50, "6.00 %, too few to be sure", 2},
		{"ten of 50 are severe, since even their lower bound is above warning", [3]float64{10, -1, -1}, [3]float64{50, -1, -1}, HealthOK, dedup.Severe, 15 * time.Minute, 50, "20.00 %", 2},
		{"no span has anything", [3]float64{-1, -1, -1}, [3]float64{-1, -1, -1}, HealthNoData, dedup.TierUnknown, 24 * time.Hour, 0, "no value", 3},
		{"a history younger than a day says how few there were", [3]float64{1, 2, -1}, [3]float64{10, 20, -1}, HealthNoData, dedup.TierUnknown, time.Hour, 20, "too few to judge (20 in 1 h)", 3},
		{"nothing at all in every span is too few, not normal", [3]float64{0, 0, 0}, [3]float64{0, 0, 0}, HealthNoData, dedup.TierUnknown, 24 * time.Hour, 0, "too few to judge (0 in 24 h)", 3},
		{"a numerator without a value is no data", [3]float64{-1, -1, -1}, [3]float64{100, -1, -1}, HealthNoData, dedup.TierUnknown, 15 * time.Minute, 0, "the numerator has no value", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &cannedHistory{values: make(map[string][]series.Value)}
			for i, w := range []string{"15m", "1h", "24h"} {
				if tt.num[i] >= 0 {
					h.values["failed["+w+"]"] = []series.Value{valueFor("orders", tt.num[i])}
				}
				if tt.den[i] >= 0 {
					h.values["all["+w+"]"] = []series.Value{valueFor("orders", tt.den[i])}
				}
			}
			j := byQueries(t, h, watching("orders"), shareRule())["orders"]
			if j.Health != tt.health || j.Enters != tt.enters || j.Window != tt.window || j.N != tt.n || !strings.Contains(j.Why, tt.why) {
				t.Errorf("got %v %v over %s of %v: %q\nwant %v %v over %s of %v: %q", j.Health, j.Enters, j.Window, j.N, j.Why, tt.health, tt.enters, tt.window, tt.n, tt.why)
			}
			if len(h.asked) != tt.askedAfter {
				t.Errorf("%d queries, want %d: %v", len(h.asked), tt.askedAfter, h.asked)
			}
		})
	}
}

func TestOneFailureOfOneAttemptFiresOnlyWhereTheRuleTakesASingleEvent(t *testing.T) {
	for _, tt := range []struct {
		name   string
		least  float64
		health Health
		enters dedup.Tier
	}{
		{"a rule that says nothing", 0, HealthNoData, dedup.TierUnknown},
		{"one that takes a single event", 1, HealthOK, dedup.Severe},
		{"one that takes two", 2, HealthNoData, dedup.TierUnknown},
	} {
		h := &cannedHistory{values: make(map[string][]series.Value)}
		for _, w := range []string{"15m", "1h", "24h"} {
			one := []series.Value{valueFor("orders", 1)}
			h.values["increase(failed["+w+"])"], h.values["increase(all["+w+"])"] = one, one
		}
		r := shareRule()
		r.MinCount, r.Numerator, r.Denominator = tt.least, "increase("+r.Numerator+")", "increase("+r.Denominator+")"
		judging := covering(resolve(t, r), r.Name, nil)
		if j := byQueries(t, h, watching("orders"), judging...)["orders"]; j.Health != tt.health || j.Enters != tt.enters {
			t.Errorf("%s: %v %v (%s), want %v %v", tt.name, j.Health, j.Enters, j.Why, tt.health, tt.enters)
		}
	}
}

func TestFewEventsAreNoEvidenceForARuleThatTakesMoreThanOne(t *testing.T) {
	h := &cannedHistory{values: map[string][]series.Value{"failed[15m]": {valueFor("orders", 2)}, "all[15m]": {valueFor("orders", 2)}}}
	r := shareRule()
	r.MinCount = 2
	if j := byQueries(t, h, watching("orders"), r)["orders"]; j.Health != HealthOK || j.Enters != dedup.Normal {
		t.Errorf("two failures of two: %v %v (%s), want normal", j.Health, j.Enters, j.Why)
	}
}

func TestEachPipelineIsJudgedOverASpanOfItsOwn(t *testing.T) {
	h := &cannedHistory{values: map[string][]series.Value{
		"all[15m]": {valueFor("orders", 100), valueFor("emails", 10), valueFor("payments", 1)}, "failed[15m]": {valueFor("orders", 0), valueFor("emails", 10), valueFor("payments", 1)},
		"all[1h]": {valueFor("orders", 900), valueFor("emails", 60), valueFor("payments", 2)}, "failed[1h]": {valueFor("orders", 900), valueFor("emails", 30), valueFor("payments", 2)},
		"all[24h]": {valueFor("orders", 900), valueFor("emails", 900), valueFor("payments", 200)}, "failed[24h]": {valueFor("orders", 900), valueFor("emails", 900), valueFor("payments", 20)},
	}}
	js := byQueries(t, h, watching("orders", "emails", "payments"), shareRule())
	for name, want := range map[string]struct {
		tier   dedup.Tier
		window time.Duration
	}{"orders": {dedup.Normal, 15 * time.Minute}, "emails": {dedup.Severe, time.Hour}, "payments": {dedup.Warning, 24 * time.Hour}} {
		if j := js[name]; j.Enters != want.tier || j.Window != want.window {
			t.Errorf("%s: %v over %s (%s), want %v over %s", name, j.Enters, j.Window, j.Why, want.tier, want.window)
		}
	}
}

func TestOneQueryServesAllPipelinesAndAllVariantsOfARule(t *testing.T) {
	rule, strict := plainRule(), plainRule()
	strict.Match, strict.Limits = map[string]string{"team": "shop"}, Limits{Warning: Limit(10)}
	rule.Except = []map[string]string{strict.Match}
	snap := watching("orders", "emails", "payments")
	snap.Pipelines[1].Pipeline.Labels = map[string]string{"team": "shop"}
	h := &cannedHistory{values: map[string][]series.Value{"ready": {valueFor("orders", 50), valueFor("emails", 50), valueFor("payments", 100)}}}
	js := byQueries(t, h, snap, rule, strict)
	if h.asked["ready"] != 1 {
		t.Errorf("the expression was evaluated %d times, want once", h.asked["ready"])
	}
	for name, want := range map[string]dedup.Tier{"orders": dedup.Normal, "emails": dedup.Warning, "payments": dedup.Warning} {
		if js[name].Enters != want {
			t.Errorf("%s: %v (%s), want %v", name, js[name].Enters, js[name].Why, want)
		}
	}
	if l := js["emails"].Labels; l["team"] != "shop" || l["pipeline"] != "emails" || l["broker"] != "main" {
		t.Errorf("labels %v", l)
	}
}

func TestWhatCannotBeJudgedIsNeverNormalAndLeavesOthersAlone(t *testing.T) {
	down := watching("orders", "emails")
	down.Pipelines[0].Down = []dedup.SourceHealth{{Name: "broker main", Kind: "broker", Tried: true, Err: "it refuses connections"}}
	for _, tt := range []struct {
		name   string
		snap   *dedup.Snapshot
		values []series.Value
		err    error
		health Health
		why    []string
		other  Health
	}{
		{"a pipeline that no value names has no data", watching("orders", "emails"), []series.Value{valueFor("emails", 1)}, nil, HealthNoData, []string{"no value"}, HealthOK},
		{"one whose source is down is an error, so that no policy turns it to normal", down, []series.Value{valueFor("emails", 1)}, nil, HealthError, []string{"broker main cannot be read: it refuses connections"}, HealthOK},
		{"two values for one pipeline name both label sets", watching("orders", "emails"),
			[]series.Value{valueFor("orders", 1, "queue", "a"), valueFor("orders", 2, "queue", "b"), valueFor("emails", 1)}, nil, HealthError, []string{`queue="a"`, `queue="b"`, "by (pipeline)"}, HealthOK},
		{"infinity is no data", watching("orders", "emails"), []series.Value{valueFor("orders", math.Inf(1)), valueFor("emails", 1)}, nil, HealthNoData, []string{"not a finite number"}, HealthOK},
		{"what is not a number is no data", watching("orders", "emails"), []series.Value{valueFor("orders", math.NaN()), valueFor("emails", 1)}, nil, HealthNoData, []string{"not a finite number"}, HealthOK},
		{"a query that fails is an error for all", watching("orders", "emails"), nil, &dedup.Error{Kind: dedup.Unavailable, Public: "History is still being opened"}, HealthError, []string{"History is still being opened"}, HealthError},
		{"an inner error is not told", watching("orders", "emails"), nil, errors.New("password hunter2"), HealthError, []string{"Internal error"}, HealthError},
		{"a value that names no pipeline is an error of the rule", watching("orders", "emails"), []series.Value{{Labels: map[string]string{"queue": "a"}, Value: 1}}, nil, HealthError, []string{"without the label pipeline", "by (pipeline)"}, HealthError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &cannedHistory{values: map[string][]series.Value{"ready": tt.values}, errs: map[string]error{"ready": tt.err}}
			js := byQueries(t, h, tt.snap, plainRule())
			j := js["orders"]
			if j.Health != tt.health || j.Enters != dedup.TierUnknown || j.Holds != dedup.TierUnknown {
				t.Errorf("got %v, %v: %q; want %v and an unknown tier", j.Health, j.Enters, j.Why, tt.health)
			}
			for _, part := range tt.why {
				if !strings.Contains(j.Why, part) {
					t.Errorf("why is %q, want it to contain %q", j.Why, part)
				}
			}
			if strings.Contains(j.Why, "hunter2") {
				t.Errorf("why tells an inner error: %q", j.Why)
			}
			if js["emails"].Health != tt.other {
				t.Errorf("emails: %v %q, want %v", js["emails"].Health, js["emails"].Why, tt.other)
			}
		})
	}
}

func TestARuleOfBrokersAsksByTheirLabel(t *testing.T) {
	rule := plainRule()
	rule.Kind = OfBroker
	h := &cannedHistory{values: map[string][]series.Value{"ready": {{Labels: map[string]string{"broker": "main"}, Value: 500}}}}
	js := byQueries(t, h, watching("orders"), rule)
	if len(js) != 1 || js["main"].Enters != dedup.Warning || js["main"].Key.Kind != OfBroker {
		t.Errorf("got %+v, want a warning of broker main", js)
	}
}

func TestARuleOfTheDashboardTakesItsOnlyValue(t *testing.T) {
	rule := plainRule()
	rule.Kind = OfDashboard
	h := &cannedHistory{values: map[string][]series.Value{"ready": {{Labels: map[string]string{}, Value: 500}}}}
	if js := byQueries(t, h, nil, rule); js[""].Enters != dedup.Warning {
		t.Errorf("got %+v, want a warning of the dashboard, even before the first round", js)
	}
}

func TestARuleThatIsSwitchedOffAsksNothing(t *testing.T) {
	rule := plainRule()
	rule.Disabled = true
	h := &cannedHistory{}
	if js := byQueries(t, h, watching("orders"), rule); len(js) != 0 || len(h.asked) != 0 {
		t.Errorf("got %v after %v, want nothing", js, h.asked)
	}
}

func TestTheExpressionOfARuleIsCheckedWithItsPlace(t *testing.T) {
	for _, tt := range []struct{ name, expr, want string }{
		{"a rate over the window is fine", "increase(dedup_broker_acks_total[$window])", ""},
		{"a difference over the window is fine", "dedup_broker_acks_total - dedup_broker_acks_total offset $window", ""},
		{"the place behind the window is that of the text as it was written", "sum(increase(a[$window]) + )", "1:28"},
		{"a range is refused", "a[$window]", "range vector"},
		{"another word is no window", "a[$span]", "1:3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckExpr(tt.expr)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("CheckExpr(%q) = %v, want %q", tt.expr, err, tt.want)
			}
		})
	}
}

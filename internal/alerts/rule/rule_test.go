package rule

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

// customRule is a rule of the configuration that is complete, and right.
func customRule() Rule {
	return Rule{Name: "slow-shop", Kind: OfPipeline, Unit: dedup.Count, Expr: `max by (pipeline) (dedup_ready)`, Limits: Limits{Warning: Limit(5)}}
}

func TestWhatIsWrongWithARuleIsSaidWithHowToMendIt(t *testing.T) {
	ratio := func(r *Rule) {
		r.Expr, r.Numerator, r.Denominator = "", "sum by (pipeline) (increase(a[$window]))", "sum by (pipeline) (increase(b[$window]))"
	}
	for _, tt := range []struct {
		name  string
		spoil func(*Rule)
		says  string
	}{
		{"a rule that is right", func(*Rule) {}, ""},
		{"a ratio that is right", ratio, ""},
		{"a name with a slash", func(r *Rule) { r.Name = "a/b" }, `rule "a/b": name: write small letters`},
		{"no name", func(r *Rule) { r.Name = "" }, `rule "": name`},
		{"no source", func(r *Rule) { r.Expr = "" }, "exactly one of measure, findings, expr, or numerator with denominator must give its value; none is given"},
		{"two sources", func(r *Rule) { r.Findings = []string{"looping"} }, "expr and findings are given"},
		{"an unknown measure", func(r *Rule) { r.Expr, r.Measure = "", "speed" }, `there is no measure "speed"; the measures are ack_latency`},
		{"a measure of another kind", func(r *Rule) { r.Expr, r.Measure = "", "node_down" }, "the measure node_down judges each broker"},
		{"a kind that is none", func(r *Rule) { r.Kind = "queue" }, `"queue" is none; write pipeline, broker, store or dashboard`},
		{"findings of a broker", func(r *Rule) { r.Expr, r.Findings, r.Kind, r.Limits = "", []string{"looping"}, OfBroker, Limits{} }, "findings are of pipelines"},
		{"findings with limits", func(r *Rule) { r.Expr, r.Findings = "", []string{"looping"} }, "findings bring their own tiers"},
		{"every other finding and one more", func(r *Rule) { r.Expr, r.Findings, r.Limits = "", []string{"looping", "*"}, Limits{} }, `"*" stands alone`},
		{"limits of the page", func(r *Rule) { r.Expr, r.Measure = "", "duplicate_rate" }, "set them under limits of the pipeline"},
		{"a syntax error", func(r *Rule) { r.Expr = "sum by (pipeline (x)" }, `rule "slow-shop": expr: The PromQL expression is wrong`},
		{"a ratio without a denominator", func(r *Rule) { ratio(r); r.Denominator = "" }, "denominator: it is missing"},
		{"a ratio over no span", func(r *Rule) { ratio(r); r.Numerator = "sum by (pipeline) (a)" }, "numerator: it does not say over what span; write $window"},
		{"no limit", func(r *Rule) { r.Limits = Limits{} }, "limits: none is given"},
		{"no limit while it is switched off", func(r *Rule) { r.Limits, r.Disabled = Limits{}, true }, ""},
		{"limits that fall", func(r *Rule) { r.Limits.Severe = Limit(4) }, "severe (4) is below warning (5); write them in rising order"},
		{"a limit that is no number", func(r *Rule) { r.Limits.Warning = Limit(math.NaN()) }, "warning is NaN; write a number above 0"},
		{"a limit of nothing", func(r *Rule) { r.Limits.Warning = Limit(0) }, "write a number above 0"},
		{"a leave above the limit", func(r *Rule) { r.Limits.Leave = 1.1 }, "leave: 1.1 is no share"},
		{"a unit that is none", func(r *Rule) { r.Unit = "furlongs" }, `"furlongs" is none; write ratio`},
		{"a policy that is none", func(r *Rule) { r.NoData = "panic" }, `"panic" is no policy; write keep, fire or ok`},
		{"a negative span", func(r *Rule) { r.Timing.Severe = -time.Second }, "a span is negative"},
		{"a negative count", func(r *Rule) { r.MinCount = -1 }, "min_count: -1 is no count"},
		{"a runbook that runs", func(r *Rule) { r.Runbook = "javascript:alert(1)" }, "runbook: write an address that begins with https://"},
		{"a runbook on the web", func(r *Rule) { r.Runbook = "https://wiki.example.org/orders" }, ""},
		{"a label without a name", func(r *Rule) { r.Match = map[string]string{"": "x"} }, "a label has no name"},
		{"a title that is too long", func(r *Rule) { r.Title = strings.Repeat("x", 121) }, "write at most 120"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := customRule()
			tt.spoil(&r)
			err := r.Check()
			switch {
			case tt.says == "" && err != nil:
				t.Errorf("it says %q", err)
			case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("it says %v, want %q in it", err, tt.says)
			}
		})
	}
}

func TestLimitsAreEnteredAtTheirValueAndLeftBelowFourFifthsOfIt(t *testing.T) {
	l := Limits{Warning: Limit(10), Severe: Limit(30), Emergency: Limit(100)}
	for _, tt := range []struct {
		value         float64
		enters, holds dedup.Tier
		limit         float64
	}{
		{0, dedup.Normal, dedup.Normal, 10},
		{7.9, dedup.Normal, dedup.Normal, 10},
		{8, dedup.Normal, dedup.Warning, 10},
		{10, dedup.Warning, dedup.Warning, 10},
		{23.9, dedup.Warning, dedup.Warning, 10},
		{24, dedup.Warning, dedup.Severe, 10},
		{30, dedup.Severe, dedup.Severe, 30},
		{80, dedup.Severe, dedup.Emergency, 30},
		{100, dedup.Emergency, dedup.Emergency, 100},
	} {
		enters, holds, limit := l.tiers(tt.value)
		if enters != tt.enters || holds != tt.holds || limit != tt.limit {
			t.Errorf("%v enters %s and holds %s by %v, want %s and %s by %v", tt.value, enters, holds, limit, tt.enters, tt.holds, tt.limit)
		}
	}
	severeOnly := Limits{Severe: Limit(1)}
	if enters, holds, limit := severeOnly.tiers(1); enters != dedup.Severe || holds != dedup.Severe || limit != 1 || severeOnly.lowest() != dedup.Severe {
		t.Errorf("a rule without a warning enters %s and holds %s by %v", enters, holds, limit)
	}
	if _, holds, _ := (Limits{Warning: Limit(1), Leave: 0.98}).tiers(0.9); holds != dedup.Normal {
		t.Errorf("a rule with a leave of its own holds %s", holds)
	}
}

func TestWhatIsEnteredIsHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{Warning: Limit(0.01), Severe: Limit(0.03), Emergency: Limit(0.1)}
		v, n := rapid.Float64Range(0, 0.3).Draw(t, "value"), float64(rapid.IntRange(1, 10_000).Draw(t, "n"))
		for name, judge := range map[string]func() (enters, holds dedup.Tier, limit float64){
			"value": func() (dedup.Tier, dedup.Tier, float64) { return l.tiers(v) },
			"ratio": func() (dedup.Tier, dedup.Tier, float64) { return l.ratioTiers(v, n) },
		} {
			if enters, holds, _ := judge(); holds < enters || enters < dedup.Normal {
				t.Fatalf("%s %v of %v enters %s and holds %s", name, v, n, enters, holds)
			}
		}
	})
}

func TestARatioNeedsEvidence(t *testing.T) {
	l := Limits{Warning: Limit(0.05), Severe: Limit(0.20)}
	for _, tt := range []struct {
		name    string
		hits, n float64
		want    dedup.Tier
	}{
		{"two of twenty are two hits", 2, 20, dedup.Normal},
		{"three of fifty could well be less than half the limit", 3, 50, dedup.Normal},
		{"five of fifty are a warning", 5, 50, dedup.Warning},
		{"ten of fifty are severe", 10, 50, dedup.Severe},
		{"three of ten are severe, since even their lower bound is above the warning limit", 3, 10, dedup.Severe},
		{"exactly the limit of many is a warning", 500, 10_000, dedup.Warning},
		{"just below it is normal", 499, 10_000, dedup.Normal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, _, _ := l.ratioTiers(tt.hits/tt.n, tt.n); got != tt.want {
				t.Errorf("%v of %v (at least %.4f) is %s, want %s", tt.hits, tt.n, WilsonLower(tt.hits, tt.n), got, tt.want)
			}
		})
	}
}

func TestTheEvidenceOfARatioIsAboveTheLimitOfTheTierBelow(t *testing.T) {
	l := Limits{Warning: Limit(0.10), Severe: Limit(0.20)}
	for _, tt := range []struct {
		name          string
		hits, n       float64
		enters, holds dedup.Tier
	}{
		{"the evidence of severe is below the warning limit, and below that at which one is left", 3, 15, dedup.Warning, dedup.Warning},
		{"the evidence of severe is below the warning limit, and above that at which one is left", 4, 18, dedup.Warning, dedup.Severe},
		{"the evidence of severe is above the warning limit", 12, 50, dedup.Severe, dedup.Severe},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if enters, holds, _ := l.ratioTiers(tt.hits/tt.n, tt.n); enters != tt.enters || holds != tt.holds {
				t.Errorf("it enters %s and holds %s (at least %.4f), want %s and %s", enters, holds, WilsonLower(tt.hits, tt.n), tt.enters, tt.holds)
			}
		})
	}
}

func TestThePolicyDecidesWhereThereIsNoData(t *testing.T) {
	limits := Limits{Severe: Limit(1), Emergency: Limit(5)}
	none := Judgement{At: readAt, Health: HealthNoData}
	for _, tt := range []struct {
		name   string
		policy NoDataPolicy
		j      Judgement
		want   Evaluation
	}{
		{"nothing given keeps", "", none, Evaluation{At: readAt, Health: HealthNoData}},
		{"keep keeps", NoDataKeep, none, Evaluation{At: readAt, Health: HealthNoData}},
		{"fire is the lowest tier, and holds any", NoDataFire, none, Evaluation{At: readAt, Enters: dedup.Severe, Holds: dedup.Emergency}},
		{"ok is normal", NoDataOK, none, Evaluation{At: readAt, Enters: dedup.Normal, Holds: dedup.Normal}},
		{"an error keeps whatever the policy", NoDataFire, Judgement{At: readAt, Health: HealthError, Enters: dedup.Normal}, Evaluation{At: readAt, Health: HealthError}},
		{"data is data", NoDataOK, Judgement{At: readAt, Enters: dedup.Severe, Holds: dedup.Emergency}, Evaluation{At: readAt, Enters: dedup.Severe, Holds: dedup.Emergency}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Rule{NoData: tt.policy, Limits: limits}).Evaluation(tt.j); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// resolve joins the built-in rules with custom ones that must be right.
func resolve(t *testing.T, custom ...Rule) []Rule {
	t.Helper()
	rules, err := Resolve(Defaults(), custom)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// covering returns the variants of a rule that judge a subject.
func covering(rules []Rule, name string, labels map[string]string) []Rule {
	var out []Rule
	for _, r := range rules {
		if r.Name == name && r.Covers(labels) {
			out = append(out, r)
		}
	}
	return out
}

func TestTheMostSpecificVariantJudgesAPipeline(t *testing.T) {
	shop, gold := map[string]string{"team": "shop"}, map[string]string{"grade": "gold"}
	both := map[string]string{"team": "shop", "grade": "gold"}
	warning := func(at float64, match map[string]string) Rule {
		return Rule{Name: "dead_letters", Match: match, Limits: Limits{Warning: Limit(at)}}
	}
	rules := resolve(t, warning(300, both), warning(100, shop), warning(50, nil), warning(200, gold))
	for _, tt := range []struct {
		name   string
		labels map[string]string
		want   float64
	}{
		{"no label takes what holds for all", map[string]string{"pipeline": "orders"}, 50},
		{"one label takes its variant", map[string]string{"pipeline": "orders", "team": "shop"}, 100},
		{"the other label takes the other", map[string]string{"grade": "gold"}, 200},
		{"both labels take the variant of both", both, 300},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := covering(rules, "dead_letters", tt.labels)
			if len(got) != 1 || *got[0].Limits.Warning != tt.want {
				t.Fatalf("%d variants judge it: %+v", len(got), got)
			}
		})
	}
	base := warning(50, nil)
	base.Step = "Call the shop."
	if got := covering(resolve(t, warning(100, shop), base), "dead_letters", shop); len(got) != 1 || got[0].Step != base.Step || *got[0].Limits.Warning != 100 {
		t.Errorf("a variant builds on what holds for all, wherever that stands; got %+v", got)
	}
	two := resolve(t, warning(100, shop), warning(200, gold))
	if got := covering(two, "dead_letters", both); len(got) != 1 || *got[0].Limits.Warning != 200 {
		t.Errorf("of two that are equally specific the last one judges; got %+v", got)
	}
}

func TestAPipelineIsJudgedOnceByARule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"1", "2"}), 0, 3)
		var custom []Rule
		for _, match := range rapid.SliceOfNDistinct(label, 0, 6, func(m map[string]string) string { return textOf(m) }).Draw(t, "variants") {
			custom = append(custom, Rule{Name: "dead_letters", Match: match, Limits: Limits{Warning: Limit(7)}})
		}
		rules, err := Resolve(Defaults(), custom)
		if err != nil {
			t.Fatal(err)
		}
		labels := label.Draw(t, "labels")
		if got := covering(rules, "dead_letters", labels); len(got) != 1 {
			t.Fatalf("%d variants judge %v", len(got), labels)
		}
	})
}

func textOf(labels map[string]string) string {
	return labels["a"] + "," + labels["b"] + "," + labels["c"]
}

func TestAVariantOverridesTheFieldsThatItGives(t *testing.T) {
	built := covering(resolve(t), "stuck_markers", nil)[0]
	got := covering(resolve(t, Rule{Name: "stuck_markers", Step: "Call the shop.", Limits: Limits{Severe: Limit(50)},
		Timing: Timing{Warning: 10 * time.Minute, Severe: AtOnce}, NoData: NoDataFire}), "stuck_markers", nil)[0]
	if *got.Limits.Warning != *built.Limits.Warning || *got.Limits.Severe != 50 || got.Limits.Emergency != nil {
		t.Errorf("limits are %+v", got.Limits)
	}
	if want := (Timing{Warning: 10 * time.Minute, Emergency: built.Timing.Emergency, KeepFiring: built.Timing.KeepFiring}); got.Timing != want {
		t.Errorf("the timing is %+v, want %+v", got.Timing, want)
	}
	if got.Step != "Call the shop." || got.Meaning != built.Meaning || got.Title != built.Title || got.NoData != NoDataFire || got.Measure != built.Measure {
		t.Errorf("the rule is %+v", got)
	}
	if got := covering(resolve(t, Rule{Name: "stuck_markers", Disabled: true}), "stuck_markers", nil); len(got) != 1 || !got[0].Disabled {
		t.Errorf("a rule that was switched off is %+v", got)
	}
	if got := covering(resolve(t, Rule{Name: "backlog", Limits: Limits{Warning: Limit(1000)}}), "backlog", nil); len(got) != 1 || got[0].Disabled {
		t.Errorf("a rule that was given limits is %+v", got)
	}
	other := covering(resolve(t, Rule{Name: "stuck_markers", Expr: "dedup_stuck"}), "stuck_markers", nil)[0]
	if other.Measure != "" || other.Expr != "dedup_stuck" {
		t.Errorf("another source of the value is %+v", other)
	}
}

func TestARatioRestsOnFiftyEventsUnlessItsRuleSaysOtherwise(t *testing.T) {
	share := func(change func(*Rule)) Rule {
		r := Rule{Name: "share", Numerator: "increase(a[$window])", Denominator: "increase(b[$window])", Limits: Limits{Warning: Limit(0.05)}}
		change(&r)
		return r
	}
	shop := map[string]string{"team": "shop"}
	for _, tt := range []struct {
		name  string
		rules []Rule
		of    string
		want  float64
	}{
		{"a ratio that gives no count", []Rule{share(func(*Rule) {})}, "share", 50},
		{"one that takes a single event", []Rule{share(func(r *Rule) { r.MinCount = 1 })}, "share", 1},
		{"one that wants more", []Rule{share(func(r *Rule) { r.MinCount = 200 })}, "share", 200},
		{"a variant of one", []Rule{share(func(*Rule) {}), {Name: "share", Match: shop, Limits: Limits{Warning: Limit(0.1)}}}, "share", 50},
		{"a variant that takes a single event", []Rule{share(func(*Rule) {}), {Name: "share", Match: shop, MinCount: 1}}, "share", 1},
		{"a built-in rule that was made a ratio", []Rule{share(func(r *Rule) { r.Name, r.Unit = "backlog", dedup.Ratio })}, "backlog", 50},
		{"seconds for each event", []Rule{share(func(r *Rule) { r.Unit = dedup.Seconds })}, "share", 0},
		{"a variant that makes it seconds", []Rule{share(func(*Rule) {}), {Name: "share", Match: shop, Unit: dedup.Seconds}}, "share", 0},
		{"a share that one expression gives", []Rule{{Name: "share", Expr: "a / b", Unit: dedup.Ratio, Limits: Limits{Warning: Limit(0.05)}}}, "share", 0},
	} {
		if got := covering(resolve(t, tt.rules...), tt.of, shop); len(got) != 1 || got[0].MinCount != tt.want {
			t.Errorf("%s: %+v, want one that rests on at least %v", tt.name, got, tt.want)
		}
	}
}

func TestACustomRuleIsAddedWithWhatItDoesNotGive(t *testing.T) {
	r := customRule()
	r.Kind, r.Unit = "", ""
	rules := resolve(t, r)
	got := rules[len(rules)-1]
	if got.Name != r.Name || got.Title != r.Name || got.Kind != OfPipeline || got.Unit != dedup.Count || got.NoData != NoDataKeep || got.Timing != DefaultTiming() {
		t.Errorf("the rule became %+v", got)
	}
	of := resolve(t, Rule{Name: "nodes", Measure: "node_down", Limits: Limits{Warning: Limit(1)}})
	if got := of[len(of)-1]; got.Kind != OfBroker {
		t.Errorf("a rule by a measure of brokers judges each %s", got.Kind)
	}
}

func TestRulesThatContradictEachOtherAreRefused(t *testing.T) {
	shop := map[string]string{"team": "shop"}
	stuck := func(match map[string]string) Rule {
		return Rule{Name: "stuck_markers", Match: match, Limits: Limits{Warning: Limit(2)}}
	}
	bad := customRule()
	bad.Expr = "sum("
	for _, tt := range []struct {
		name   string
		custom []Rule
		says   string
	}{
		{"one override twice", []Rule{stuck(nil), stuck(nil)}, `rule "stuck_markers": it is given twice for the same labels`},
		{"one variant twice", []Rule{stuck(shop), stuck(shop)}, "given twice"},
		{"one custom rule twice", []Rule{customRule(), customRule()}, `rule "slow-shop": it is given twice`},
		{"a syntax error", []Rule{stuck(nil), bad}, `rule "slow-shop": expr`},
		{"limits that fall once they are joined", []Rule{{Name: "stuck_markers", Limits: Limits{Warning: Limit(11)}}}, "severe (10) is below warning (11)"},
		{"limits of what the page judges", []Rule{{Name: "ack_latency", Limits: Limits{Warning: Limit(1)}}}, "set them under limits of the pipeline"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Resolve(Defaults(), tt.custom); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("it says %v, want %q in it", err, tt.says)
			}
		})
	}
}

func TestARuleFiresAtTheTiersOfItsLimitsAndThoseThatItsMeasureBrings(t *testing.T) {
	for _, tt := range []struct {
		rule Rule
		want string
	}{
		{Rule{Measure: "duplicate_rate"}, "warning severe emergency"},
		{Rule{Measure: "ack_latency"}, "warning severe"},
		{Rule{Measure: "looping", Limits: Limits{Warning: Limit(10)}}, "warning severe"},
		{Rule{Measure: "stuck_markers", Limits: Limits{Emergency: Limit(10)}}, "warning severe emergency"},
		{Rule{Measure: "markers_without_expiry", Limits: Limits{Severe: Limit(10)}}, "warning severe"},
		{Rule{Measure: "lost_messages", Limits: Limits{Emergency: Limit(10)}}, "warning severe emergency"},
		{Rule{Measure: "double_effects", Limits: Limits{Emergency: Limit(1)}}, "warning emergency"},
		{Rule{Measure: "source_unreachable", Limits: Limits{Severe: Limit(120)}}, "warning severe"},
		{Rule{Measure: "watchdog"}, "warning"},
		{Rule{Measure: "dead_letters", Limits: Limits{Severe: Limit(10)}}, "severe"},
		{Rule{Findings: []string{"no_consumers"}}, "warning severe emergency"},
		{Rule{Expr: "up", Limits: Limits{Warning: Limit(1), Emergency: Limit(2)}}, "warning emergency"},
		{Rule{Expr: "up"}, ""},
	} {
		var got []string
		for _, tier := range tt.rule.Tiers() {
			got = append(got, tier.String())
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s%s%v fires at %v, want %s", tt.rule.Measure, tt.rule.Expr, tt.rule.Findings, got, tt.want)
		}
	}
}

func TestAFindingRaisesARuleToNoTierThatItDoesNotSay(t *testing.T) {
	// The tiers of each finding by docs/findings.md.
	tiers := map[string][]dedup.Tier{
		"dead_letters_wait": {dedup.Warning}, "stuck_markers": {dedup.Warning, dedup.Severe}, "marker_without_expiry": {dedup.Warning, dedup.Severe}, "looping": {dedup.Severe},
		"messages_given_up": {dedup.Warning, dedup.Severe, dedup.Emergency}, "failed_and_acked": {dedup.Warning, dedup.Severe, dedup.Emergency}, "double_effects": {dedup.Warning, dedup.Emergency},
	}
	for name, m := range measures() {
		for _, kind := range m.findings {
			if tiers[kind] == nil {
				t.Errorf("the finding %s of the measure %s is not in this test", kind, name)
			}
			for _, tier := range tiers[kind] {
				p := dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Limits: dedup.DefaultLimits()}, Findings: []dedup.Finding{{Kind: kind, Tier: tier}},
					MarkersNoExpiry: exactly(1), Stuck: exactly(0), DeadLetters: exactly(0)}
				rule := Rule{Name: name, Measure: name, Kind: OfPipeline}
				js, _ := rule.Judge(NewRound(readAt, &dedup.Snapshot{Round: 1, At: readAt, Pipelines: []dedup.PipelineStatus{p}}, Self{}))
				j := js[0]
				if j.Enters > dedup.Normal && !slices.Contains(rule.Tiers(), j.Enters) {
					t.Errorf("%s raises %s to %s, which is none of %v", kind, name, j.Enters, rule.Tiers())
				}
				if raised := j.Enters == tier; raised == (kind == "dead_letters_wait") {
					t.Errorf("%s at %s leads %s to %s", kind, tier, name, j.Enters)
				}
			}
		}
	}
}

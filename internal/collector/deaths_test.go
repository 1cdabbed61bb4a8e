package collector

import (
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// died sets what two nodes have counted; a negative number is a node that cannot be read.
func died(b *testBench, nodes ...int64) {
	b.broker.set(func(f *fakeSource) {
		f.sample.Deaths, f.sample.State.Nodes = nil, []dedup.Node{{Name: "n1", Running: true}, {Name: "n2", Running: true}}
		for i, n := range nodes {
			d := dedup.NodeDeaths{URL: []string{"http://n1:15692", "http://n2:15692"}[i], Counts: map[dedup.DeathKey]int64{
				{Reason: dedup.DeathRejected, Strategy: dedup.StrategyAtMostOnce}: n, {Reason: dedup.DeathExpired, Strategy: dedup.StrategyDisabled}: n / 10}}
			if n < 0 {
				d.Counts, d.Err = nil, "refused\u202e"
			}
			f.sample.Deaths = append(f.sample.Deaths, d)
		}
	})
	pass(2 * testInterval)
}

func TestDeathsOfTheWholeBrokerAreKnownOnlyWithEveryNode(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		count := func(reason string) dedup.Figure {
			t.Helper()
			d := b.pipeline(t, "orders").BrokerDeaths
			if d == nil {
				return dedup.Unknown(dedup.PerHour, "nil")
			}
			i := slices.IndexFunc(d.Reasons, func(r dedup.ReasonDeaths) bool { return r.Reason == reason })
			return d.Reasons[i].PerHour
		}
		if b.pipeline(t, "orders").BrokerDeaths != nil || b.Snapshot().Brokers[0].Deaths != nil {
			t.Error("deaths of a broker that is not asked for them")
		}
		died(b, 1000, 500) // only baselines
		died(b, 1000, 500)
		pass(counter.LongWindowEvery + testInterval)
		if f := count(dedup.DeathRejected); !f.Known() || f.Value != 0 || f.Quality != dedup.Measured || b.pipeline(t, "orders").BrokerDeaths.Discarded.Value != 0 {
			t.Errorf("nothing died since: %+v", f)
		}
		died(b, 1050, 510)
		pass(counter.LongWindowEvery + testInterval)
		if f := count(dedup.DeathRejected); f.N != 60 || f.Value < 60 {
			t.Errorf("60 were rejected: %+v", f)
		}
		if f := b.Snapshot().Brokers[0].Deaths.Discarded; f.Value != 6 {
			t.Errorf("6 were discarded: %+v", f)
		}
		for _, tt := range []struct {
			why   string
			nodes []int64
		}{{"node http://n2:15692 cannot be read: refused\uFFFD", []int64{1050, -1}}, {"prometheus_urls lists 1 of 2 nodes", []int64{1050}}} {
			died(b, tt.nodes...)
			if f := count(dedup.DeathRejected); f.Known() || !strings.Contains(f.Why, tt.why) {
				t.Errorf("%v: %+v, want unknown because %q", tt.nodes, f, tt.why)
			}
			if _, ok := b.history.current(series.BrokerDeadLettered, "broker", "main", "reason", "rejected", "strategy", "at_most_once"); ok {
				t.Errorf("%v: the series goes on", tt.nodes)
			}
		}
		died(b, 1050, 515) // the node is back with what it counted meanwhile
		died(b, 3, 515)    // the other one was restarted
		died(b, 8, 515)
		died(b, 10, 515)
		pass(counter.LongWindowEvery + testInterval)
		if f := count(dedup.DeathRejected); f.N < 65 || f.N > 75 {
			t.Errorf("60 + 5 and what the restarted node counted: %+v", f)
		}
	})
}

func TestAPipelineWithoutADeadLetterExchangeIsToldOfDiscardedMessages(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		died(b, 0, 0)
		died(b, 100, 0)
		pass(counter.LongWindowEvery + testInterval)
		tiers := map[string]dedup.Tier{}
		for _, name := range []string{"orders", "emails"} {
			for _, f := range b.pipeline(t, name).Findings {
				if f.Kind == "dead_letters_discarded" {
					tiers[name] = f.Tier
				}
			}
		}
		if tiers["emails"] != dedup.Severe || tiers["orders"] != dedup.Normal {
			t.Errorf("tiers %v; want severe for emails, which has no dead-letter exchange, and a hint for orders", tiers)
		}
	})
}

package collector

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/collector/counter"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// everythingWrong makes the sources of orders show as many hazards as can be at once.
func everythingWrong(b *testBench) {
	b.pipelines[0].MaxProcessing = 10 * time.Minute // markers live for five
	b.store.set(func(f *fakeSource) {
		now := time.Now()
		f.scheme.Blind, f.scheme.OnFail, f.scheme.DoneTTL = "written in one transaction", "ack", time.Hour
		stuck := dedup.Marker{ID: "stuck", State: dedup.Processing, FirstSeen: now.Add(-time.Hour)}
		p := &dedup.Pass{Started: now, Ended: now, Matched: 100, HashIDs: 100, RepeatedKeys: 1, Expired: 200, LongestID: 8, LongID: "too long",
			States:           map[dedup.State]int64{dedup.Processing: 1, dedup.Failed: 1},
			NoExpiry:         map[dedup.State]int64{dedup.Processing: 1},
			OldestProcessing: []dedup.Marker{stuck}, Permanent: []dedup.Marker{stuck},
			FailedMarkers: []dedup.Marker{{ID: "f", State: dedup.Failed, Since: now}}}
		p.GaveUp.Add(now)
		p.GaveUp.Freeze()
		f.stats = dedup.StoreStats{Pass: p, Health: dedup.StoreHealth{EvictionPolicy: "allkeys-lru", MemoryMax: ptr(1)},
			Facts:    &dedup.StoreFacts{IDLength: 8, IDIgnores: []dedup.IDDifference{dedup.CaseDiffers}, Collation: "ci", NullIDs: ptr(1)},
			Waits:    &dedup.LockWaits{Waiters: 1, Longest: time.Minute},
			Progress: dedup.Progress{Started: now.Add(-time.Hour)}}
	})
	b.broker.set(func(f *fakeSource) {
		q := &f.sample.Queues[0]
		q.Arguments, q.Ready, q.Unacked, q.Messages = nil, ptr(10), ptr(2), ptr(12)
		f.sample.Queues[1].HeadTimestamp = ptrTo(time.Now().Add(-2 * time.Hour))
		bind := func(to string) dedup.Binding {
			return dedup.Binding{Vhost: "/", Source: "events", Destination: to, DestinationType: "queue"}
		}
		f.topology.Exchanges = []dedup.Exchange{{Vhost: "/", Name: "events", Type: "fanout"}}
		f.topology.Bindings = []dedup.Binding{bind("orders"), bind("more")}
		f.topology.Consumers = []dedup.Consumer{{Queue: ordersRef(), Channel: "1", Connection: "c", Prefetch: 1, AckRequired: true}, {Queue: ordersRef(), Channel: "2", Connection: "c", Prefetch: 1, AckRequired: true}}
		f.sample.Queues = append(f.sample.Queues, newQueue("more", nil))
		f.sample.QueuesTotal = ptr(4)
	})
}

func ptrTo[T any](v T) *T { return &v }

// goRound lets the broker count redeliveries without an ack for a span.
func goRound(b *testBench, d time.Duration) {
	for past := time.Duration(0); past < d; past += testInterval {
		b.broker.set(func(f *fakeSource) {
			n := int64(0)
			if was := f.sample.Queues[0].Counters.Redeliver; was != nil {
				n = *was
			}
			f.sample.Queues[0].Counters = dedup.QueueCounters{Redeliver: ptr(n + 50), Deliver: ptr(n + 50), Ack: ptr(0), Publish: ptr(0)}
		})
		pass(testInterval)
	}
}

func kindsOf(p *dedup.PipelineStatus) []string {
	var kinds []string
	for _, f := range p.Findings {
		kinds = append(kinds, f.Kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// TestFindingsComeAndGoWithTheirSources runs the collector over sources in which everything is wrong at once.
func TestFindingsComeAndGoWithTheirSources(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		b.list(b.pipelines[0], "orders.dlq")
		b.stores[0].queues[0].told.Follow([]dedup.QueueRef{ref("more")}, &b.pipelines[0].dead)
		everythingWrong(b)
		b.brokers[0].read.WantTopology()
		goRound(b, source.TopologyInterval)
		ofQueues := []string{"dead_letter_exchange_none", "dead_letters_wait", "head_blocked", "looping"}
		ofStore := []string{"blind_scheme", "business_key_repeated", "dedup_window_unusual", "eviction_possible", "failed_and_acked", "hash_ids",
			"id_case_insensitive", "id_too_long", "marker_row_held", "marker_without_expiry", "messages_given_up", "null_ids", "pass_incomplete",
			"purge_not_running", "stuck_markers", "ttl_too_short"}
		ofBoth := []string{"dedup_window_short", "fan_out_shared_store"}
		want := slices.Sorted(slices.Values(slices.Concat(ofQueues, ofStore, ofBoth)))
		p := b.pipeline(t, "orders")
		if got := kindsOf(p); !slices.Equal(got, want) {
			t.Errorf("found    %v\nwant %v", got, want)
		}
		if !slices.IsSortedFunc(p.Findings, func(a, b dedup.Finding) int { return int(b.Tier) - int(a.Tier) }) || p.Findings[0].Kind != "head_blocked" {
			t.Errorf("the worst does not come first: %+v", p.Findings)
		}
		if v, ok := b.history.current(series.Findings, "pipeline", "orders", "kind", "head_blocked", "tier", "emergency"); !ok || v != 1 {
			t.Errorf("the history holds %v (%v) findings head_blocked", v, ok)
		}
		lose := errors.New("refused")
		b.store.set(func(f *fakeSource) { f.err = lose })
		goRound(b, 2*testInterval)
		if got := kindsOf(b.pipeline(t, "orders")); !slices.Equal(got, ofQueues) {
			t.Errorf("without the store: %v, want %v", got, ofQueues)
		}
		b.store.set(func(f *fakeSource) { f.err = nil })
		b.broker.set(func(f *fakeSource) { f.err = lose })
		pass(2 * testInterval)
		afterwards := slices.Sorted(slices.Values(append(ofStore, "recovering"))) // the store has just come back
		if got := kindsOf(b.pipeline(t, "orders")); !slices.Equal(got, afterwards) {
			t.Errorf("without the broker: %v, want %v", got, afterwards)
		}
		if _, ok := b.history.current(series.Findings, "pipeline", "orders", "kind", "head_blocked", "tier", "emergency"); ok {
			t.Error("the series of a finding that is gone goes on")
		}
	})
}

func TestAHealthyPipelineHasNoFinding(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		holdDead(b, 0)
		b.store.set(func(f *fakeSource) {
			f.stats = dedup.StoreStats{Pass: stuckPass(0, 0), Facts: &dedup.StoreFacts{IDLength: 64, NullIDs: ptr(0)}, Waits: &dedup.LockWaits{}}
		})
		pass(2 * testInterval)
		if p := b.pipeline(t, "orders"); len(p.Findings) > 0 {
			t.Errorf("found %+v", p.Findings)
		}
	})
}

// TestFindingsRememberWhatWasSeenBefore runs the collector over sources whose hazards show only by comparison.
func TestFindingsRememberWhatWasSeenBefore(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		look := func(failed, expired, evicted, gaveUp int64) {
			b.store.set(func(f *fakeSource) {
				p := stuckPass(0, 0)
				f.scheme.OnFail, f.scheme.DoneTTL = "ack", 10*time.Minute
				p.States[dedup.Failed], p.Expired, p.Matched, p.UndatedGaveUp = failed, expired, 5000, gaveUp
				f.stats = dedup.StoreStats{Pass: p, Health: dedup.StoreHealth{EvictionPolicy: "allkeys-lru", MemoryMax: ptr(1), EvictedKeys: ptr(evicted)}}
			})
			pass(2 * testInterval)
		}
		says := func(kind string, tier dedup.Tier, part string) {
			t.Helper()
			for _, f := range b.pipeline(t, "orders").Findings {
				if f.Kind == kind {
					if f.Tier != tier || !strings.Contains(f.Text+f.Evidence, part) {
						t.Errorf("%+v, want %s and %q", f, tier, part)
					}
					return
				}
			}
			t.Errorf("%s was not found in %v", kind, kindsOf(b.pipeline(t, "orders")))
		}
		look(2000, 300, 0, 500)
		says("failed_and_acked", dedup.Warning, "2,000 messages")
		says("messages_given_up", dedup.Warning, "500 messages were given up, when is not known")
		says("eviction_possible", dedup.Warning, "allkeys-lru")
		pass(11 * time.Minute)
		look(2003, 350, 7, 504)
		says("failed_and_acked", dedup.Severe, "3 of them in the last hour")
		says("messages_given_up", dedup.Severe, "4 of them in the last hour")
		says("purge_not_running", dedup.Normal, "50 more than 11 m 30 s before")
		says("markers_evicted", dedup.Severe, "evicted_keys rose")
		if slices.Contains(kindsOf(b.pipeline(t, "orders")), "eviction_possible") {
			t.Error("what has happened is still called possible")
		}
		pass(time.Hour)
		says("eviction_possible", dedup.Warning, "allkeys-lru")
		if slices.Contains(kindsOf(b.pipeline(t, "orders")), "markers_evicted") {
			t.Error("an eviction is still severe when the markers of that time would have expired")
		}
		says("dedup_window_short", dedup.Warning, "the time that the queue has been watched for")
	})
}

func TestOfOneTierTheMostHarmfulComesFirst(t *testing.T) {
	var in []dedup.Finding
	for _, kind := range []string{"markers_evicted", "stuck_markers", "looping", "messages_given_up"} {
		in = append(in, dedup.Finding{Kind: kind, Tier: dedup.Severe})
	}
	in = append(in, dedup.Finding{Kind: "failed_and_acked", Tier: dedup.Warning}, dedup.Finding{Kind: "head_blocked", Tier: dedup.Emergency})
	s := &dedup.Snapshot{Pipelines: []dedup.PipelineStatus{{Findings: in}}}
	worstFirst(s)
	var got []string
	for _, f := range s.Pipelines[0].Findings {
		got = append(got, f.Kind)
	}
	if want := []string{"head_blocked", "messages_given_up", "looping", "stuck_markers", "markers_evicted", "failed_and_acked"}; !slices.Equal(got, want) {
		t.Errorf("in the order %v, want %v", got, want)
	}
}

func TestMarkersThatHoldMessagesBack(t *testing.T) {
	overdue := dedup.Marker{ID: "overdue", State: dedup.Processing, Since: findingNow.Add(findingOffset - time.Hour), Expires: findingNow.Add(time.Hour)}
	endless := forever(dedup.Processing, time.Minute)
	tests := map[string]struct {
		marker dedup.Marker
		change func(*pipeline, *view)
		held   bool
	}{
		"one older than processing takes":   {overdue, func(*pipeline, *view) {}, true},
		"one without expiry":                {endless, func(*pipeline, *view) {}, true},
		"not one that was claimed just now": {forever(dedup.Processing, -time.Minute), func(*pipeline, *view) {}, false},
		"not by age when no limit is known": {overdue, func(p *pipeline, _ *view) { p.MaxProcessing = 0 }, false},
		"not while the store is down":       {overdue, func(_ *pipeline, v *view) { v.storeDown = "refused" }, false},
		"not when it may be another's":      {overdue, func(p *pipeline, _ *view) { p.counted.Partner = "emails" }, false},
		"not a business row that waits":     {overdue, func(_ *pipeline, v *view) { v.scheme.StuckAfter = time.Minute }, false},
		"not where no expiry is how it is":  {endless, func(_ *pipeline, v *view) { v.scheme.ProcessingTTL = 0 }, false},
		"not without a pass":                {overdue, func(_ *pipeline, v *view) { v.stats.Pass = nil }, false},
		"not in a pipeline without a store": {overdue, func(p *pipeline, _ *view) { p.store = nil }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &pipeline{Pipeline: dedup.Pipeline{MaxProcessing: time.Minute}, store: &storeWatch{}}
			v := view{now: findingNow, scheme: nackScheme, stats: dedup.StoreStats{Pass: passWith(func(p *dedup.Pass) { p.OldestProcessing = []dedup.Marker{tt.marker} })}}
			tt.change(p, &v)
			if got := p.heldMarkers(v); (len(got) > 0) != tt.held {
				t.Errorf("held %+v, want %v", got, tt.held)
			}
		})
	}
}

func TestAPipelineShowsLostWorkAndStuckMarkers(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		b.pipelines[0].MaxProcessing = time.Minute
		now := time.Now()
		p := &dedup.Pass{Started: now, Ended: now, OldestProcessing: []dedup.Marker{{ID: "stuck", State: dedup.Processing, Since: now.Add(-time.Hour)}}}
		p.GaveUp.Add(now.Add(-time.Minute))
		p.GaveUp.Freeze()
		b.store.set(func(f *fakeSource) { f.stats.Pass = p })
		pass(2 * testInterval)
		kinds := map[string]dedup.Tier{}
		for _, f := range b.pipeline(t, "orders").Findings {
			kinds[f.Kind] = f.Tier
		}
		if kinds["messages_given_up"] != dedup.Severe || kinds["stuck_markers"] != dedup.Warning {
			t.Errorf("findings %v, want messages_given_up severe and stuck_markers", kinds)
		}
	})
}

// A dashboard that is restarted after a store evicted keys still says so, for as long as it would have.
func TestAnEvictionIsRememberedAcrossARestart(t *testing.T) {
	for name, tt := range map[string]struct {
		// The history holds an eviction that was so long ago, and ends stopped before now.
		evicted, stopped time.Duration
		tier             dedup.Tier
	}{
		"seconds before the end":  {30 * time.Second, 10 * time.Second, dedup.Severe},
		"half an hour before":     {30 * time.Minute, time.Minute, dedup.Severe},
		"two hours before":        {2 * time.Hour, time.Minute, dedup.Warning},
		"in the night before":     {10 * time.Hour, 9*time.Hour + 59*time.Minute, dedup.Warning},
		"more than a day before":  {25 * time.Hour, time.Minute, dedup.TierUnknown},
		"before a day's silence":  {26 * time.Hour, 25 * time.Hour, dedup.TierUnknown},
		"before all that is kept": {100 * time.Hour, time.Minute, dedup.TierUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, testInterval)
				now, kept := time.Now(), counter.Batch{}
				for at := now.Add(-27 * time.Hour); !at.After(now.Add(-tt.stopped)); at = at.Add(20 * time.Second) {
					n := 0.0
					if !at.Before(now.Add(-tt.evicted)) {
						n = 7
					}
					kept.Add(series.StoreEvictedKeys, n, "store", "orders")
					kept.Add(series.StoreEvictedKeys, 0, "store", "emails")
					if err := b.history.Append(t.Context(), at, slices.Collect(maps.Values(kept))); err != nil {
						t.Fatal(err)
					}
				}
				for _, s := range []*fakeSource{b.store, b.other} {
					s.set(func(f *fakeSource) {
						f.scheme.DoneTTL = 24 * time.Hour
						f.stats = dedup.StoreStats{Pass: stuckPass(0, 0), Health: dedup.StoreHealth{EvictedKeys: ptr(107)}}
					})
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- b.Run(ctx) }()
				pass(2 * testInterval)
				f := findingOf(b.pipeline(t, "orders"), "markers_evicted")
				if (f == nil) != (tt.tier == dedup.TierUnknown) || f != nil && f.Tier != tt.tier {
					t.Errorf("found %+v, want %s", f, tt.tier)
				}
				if f := findingOf(b.pipeline(t, "emails"), "markers_evicted"); f != nil {
					t.Errorf("the other store: %+v", f)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

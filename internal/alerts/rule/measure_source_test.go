package rule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestABrokerIsJudgedByItsNodesAndQueues(t *testing.T) {
	up := dedup.SourceHealth{Name: "broker main", Kind: "broker", Tried: true, OK: true, LastSuccess: readAt}
	well := func(name string) dedup.Node { return dedup.Node{Name: name, Running: true} }
	for _, tt := range []struct {
		name   string
		state  dedup.BrokerState
		health dedup.SourceHealth
		rule   string
		want   Health
		tier   dedup.Tier
		why    string
	}{
		{"a broker that is well has no alarm", dedup.BrokerState{Nodes: []dedup.Node{well("a")}}, up, "broker_alarm", HealthOK, dedup.Normal, "no node has an alarm"},
		{"an alarm is severe", dedup.BrokerState{Nodes: []dedup.Node{well("a"), {Name: "b", Running: true, MemoryAlarm: true, DiskAlarm: true}}}, up, "broker_alarm", HealthOK, dedup.Severe, "node b has a memory and a disk alarm"},
		{"a node that does not run is severe", dedup.BrokerState{Nodes: []dedup.Node{well("a"), {Name: "b"}, {Name: "c"}}}, up, "node_down", HealthOK, dedup.Severe, "node b does not run; +1 more"},
		{"a partition is an emergency", dedup.BrokerState{Nodes: []dedup.Node{{Name: "a", Running: true, Partitions: []string{"b", "c"}}}}, up, "partition", HealthOK, dedup.Emergency, "node a cannot see b, c"},
		{"a queue without a majority is severe", dedup.BrokerState{QueuesMinority: []dedup.QueueRef{{Vhost: "/", Name: "orders"}}}, up, "minority", HealthOK, dedup.Severe, "1 queue without a majority of members, 0 down"},
		{"and so is one that is down", dedup.BrokerState{QueuesDown: []dedup.QueueRef{{Vhost: "/", Name: "orders"}}}, up, "minority", HealthOK, dedup.Severe, "0 queues without a majority of members, 1 down"},
		{"nodes that cannot be read are no data", dedup.BrokerState{}, up, "node_down", HealthNoData, 0, "tag monitoring"},
		{"what a broker that is down last said is nothing", dedup.BrokerState{Nodes: []dedup.Node{well("a")}}, dedup.SourceHealth{Name: "broker main", Tried: true, Err: "refused"}, "node_down", HealthError, 0, "broker main cannot be read: refused"},
		{"one that was not read yet is no data", dedup.BrokerState{}, dedup.SourceHealth{Name: "broker main"}, "node_down", HealthNoData, 0, "has not been read yet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := NewRound(readAt, &dedup.Snapshot{At: readAt, Brokers: []dedup.BrokerStatus{{Name: "main", Health: tt.health, State: tt.state}}}, Self{})
			js := judgedBy(t, in)[tt.rule]
			if len(js) != 1 || js[0].Key != (Key{Rule: tt.rule, Kind: OfBroker, Subject: "main"}) || js[0].Labels["broker"] != "main" {
				t.Fatalf("judgements are %+v", js)
			}
			if j := js[0]; j.Health != tt.want || j.Enters != tt.tier || !strings.Contains(j.Why, tt.why) {
				t.Errorf("got %s and %s because %q, want %s and %s because %q", j.Health, j.Enters, j.Why, tt.want, tt.tier, tt.why)
			}
		})
	}
}

// unreachableRound has a broker that is well, a store last read some time ago, and what consumers of a pipeline report.
func unreachableRound(quiet time.Duration, storeOK, reportedOK bool, reportedStore string, interval time.Duration) *Round {
	last := readAt.Add(-quiet)
	store := dedup.SourceHealth{Name: "store redis", Kind: "store", Tried: true, OK: storeOK, LastSuccess: last, Err: "refused"}
	reported := dedup.SourceHealth{Name: "reported orders", Kind: "reported", Tried: true, OK: reportedOK, LastSuccess: last, Err: "refused"}
	p := dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Broker: "main", Store: "redis", ReportedStore: reportedStore}, Sources: []string{"store redis", "reported orders"}}
	return NewRound(readAt, &dedup.Snapshot{
		At: readAt, Interval: interval, Pipelines: []dedup.PipelineStatus{p}, Sources: []dedup.SourceHealth{store, reported},
		Brokers: []dedup.BrokerStatus{{Name: "main", Health: dedup.SourceHealth{Name: "broker main", Tried: true, OK: true, LastSuccess: readAt}}},
		Stores:  []dedup.StoreStatus{{Name: "redis", Health: store}},
	}, Self{})
}

func TestASourceIsUnreachableAfterThreeIntervals(t *testing.T) {
	for _, tt := range []struct {
		name     string
		in       *Round
		tiers    map[string]dedup.Tier // by kind and subject
		contains string
	}{
		{"what answers is normal", unreachableRound(0, true, true, "redis", 15*time.Second),
			map[string]dedup.Tier{"broker/main": dedup.Normal, "store/redis": dedup.Normal, "pipeline/orders": dedup.Normal}, "store redis answers"},
		{"one reading that failed is normal", unreachableRound(44*time.Second, false, true, "redis", 15*time.Second),
			map[string]dedup.Tier{"broker/main": dedup.Normal, "store/redis": dedup.Normal}, "store redis unreachable for 44 s, below the warning limit of 45 s: refused"},
		{"three intervals are a warning", unreachableRound(45*time.Second, false, true, "redis", 15*time.Second),
			map[string]dedup.Tier{"broker/main": dedup.Normal, "store/redis": dedup.Warning}, "at or above the warning limit of 45 s"},
		{"two minutes are severe", unreachableRound(2*time.Minute, false, true, "redis", 15*time.Second),
			map[string]dedup.Tier{"broker/main": dedup.Normal, "store/redis": dedup.Severe}, "unreachable for 2 m, at or above the severe limit of 2 m"},
		{"intervals of minutes have three of them", unreachableRound(10*time.Minute, false, true, "redis", 4*time.Minute),
			map[string]dedup.Tier{"broker/main": dedup.Normal, "store/redis": dedup.Normal}, "below the warning limit of 12 m"},
		{"endpoints at which consumers report are the pipeline's", unreachableRound(time.Minute, true, false, "", 15*time.Second),
			map[string]dedup.Tier{"broker/main": dedup.Normal, "store/redis": dedup.Normal, "pipeline/orders": dedup.Warning}, "reported orders unreachable for 60 s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			js := judgedBy(t, tt.in)["source_unreachable"]
			if len(js) != len(tt.tiers) {
				t.Errorf("%d sources are judged, want %d", len(js), len(tt.tiers))
			}
			for _, j := range js {
				if want := tt.tiers[string(j.Key.Kind)+"/"+j.Key.Subject]; j.Enters != want {
					t.Errorf("%s is %s because %q, want %s", j.Key, j.Enters, j.Why, want)
				}
			}
			if !slices.ContainsFunc(js, func(j Judgement) bool { return strings.Contains(j.Why, tt.contains) }) {
				t.Errorf("nothing says %q: %+v", tt.contains, js)
			}
		})
	}
}

func TestASourceThatNeverAnsweredIsUnreachableSinceItWasFirstAsked(t *testing.T) {
	h := dedup.SourceHealth{Name: "broker main", Kind: "broker", Tried: true, Since: readAt.Add(-time.Minute), Err: "refused"}
	in := NewRound(readAt, &dedup.Snapshot{At: readAt, Interval: 15 * time.Second, Brokers: []dedup.BrokerStatus{{Name: "main", Health: h}}}, Self{})
	if j := judgedBy(t, in)["source_unreachable"][0]; j.Enters != dedup.Warning || j.Value != 60 {
		t.Errorf("it is %s because %q", j.Enters, j.Why)
	}
	h.Tried = false
	in.Snapshot.Brokers[0].Health = h
	if j := judgedBy(t, NewRound(readAt, in.Snapshot, Self{}))["source_unreachable"][0]; j.Health != HealthNoData {
		t.Errorf("one that was not asked yet is %s because %q", j.Health, j.Why)
	}
}

func TestAnOutageIsCountedAsFarAsItIsKnownWhereTheDashboardWasAway(t *testing.T) {
	ago := func(d time.Duration) time.Time { return readAt.Add(-d) }
	absent := func(from, until time.Duration) dedup.Absence {
		return dedup.Absence{From: ago(from), Until: ago(until)}
	}
	for _, tt := range []struct {
		name        string
		last, since time.Duration
		away        dedup.Absence
		enters      dedup.Tier
		value       float64
		why         string
	}{
		{"away for no longer than it may be silent", 130 * time.Second, 115 * time.Second, dedup.Absence{}, dedup.Severe, 130, "unreachable for 2 m"},
		{"missed before a pause of minutes", 10 * time.Minute, 590 * time.Second, absent(9*time.Minute, 2*time.Second), dedup.Severe, 590, "; not read since "},
		{"it answered before the pause, and one try failed since", 9 * time.Hour, time.Second, absent(9*time.Hour, 2*time.Second), dedup.Normal, 1,
			"unreachable for 1 s, below the warning limit of 45 s; not read since "},
		{"missed before a night away, and it may be starting", 9 * time.Hour, 539 * time.Minute, absent(8*time.Hour, 44*time.Second), dedup.Normal, 44, "; the dashboard was not running from "},
		{"missed before a night away, and it stays so", 9 * time.Hour, 539 * time.Minute, absent(8*time.Hour, 45*time.Second), dedup.Severe, 539 * 60, "unreachable for 8 h 59 m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := dedup.SourceHealth{Name: "broker main", Kind: "broker", Tried: true, LastSuccess: ago(tt.last), Since: ago(tt.since), Away: tt.away, Err: "refused"}
			in := NewRound(readAt, &dedup.Snapshot{At: readAt, Interval: 15 * time.Second, Brokers: []dedup.BrokerStatus{{Name: "main", Health: h}}}, Self{})
			j := judgedBy(t, in)["source_unreachable"][0]
			if j.Enters != tt.enters || j.Value != tt.value || !strings.Contains(j.Why, tt.why) || !strings.HasSuffix(j.Why, ": refused") {
				t.Errorf("it is %s by %v because %q", j.Enters, j.Value, j.Why)
			}
			if held := j.Holds == dedup.Emergency; held == tt.away.IsZero() {
				t.Errorf("it holds %s", j.Holds)
			}
		})
	}
}

func TestWhatAStoreHoldsIsNotUnreachableForTheTimeThatTheStoreWasDown(t *testing.T) {
	for _, tt := range []struct {
		name string
		back time.Duration // how long ago the store came back
		want dedup.Tier
	}{
		{"the store has just come back, and what is reported there was not read yet", 2 * time.Second, dedup.Normal},
		{"it still cannot be read when the store has been back for three intervals", 45 * time.Second, dedup.Warning},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := unreachableRound(10*time.Minute, true, false, "redis", 15*time.Second)
			in.Snapshot.Stores[0].Health.Since = readAt.Add(-tt.back)
			for _, j := range judgedBy(t, in)["source_unreachable"] {
				if j.Key.Kind == OfPipeline && j.Enters != tt.want {
					t.Errorf("what is reported is %s because %q, want %s", j.Enters, j.Why, tt.want)
				}
			}
		})
	}
}

func TestTheDashboardJudgesItself(t *testing.T) {
	share := func(v float64) *float64 { return &v }
	for _, tt := range []struct {
		name   string
		self   Self
		rule   string
		health Health
		enters dedup.Tier
		why    string
	}{
		{"the watchdog always fires", Self{}, "watchdog", HealthOK, dedup.Warning, "always fires"},
		{"a first evaluation is not late", Self{}, "evaluation_late", HealthNoData, 0, "for the first time"},
		{"an evaluation in time is not late", Self{LastEvaluation: readAt.Add(-15 * time.Second)}, "evaluation_late", HealthOK, dedup.Normal, "15 s ago"},
		{"one after a minute is", Self{LastEvaluation: readAt.Add(-time.Minute)}, "evaluation_late", HealthOK, dedup.Warning, "60 s ago, at or above the warning limit of 60 s"},
		{"not where it is due each half minute", Self{LastEvaluation: readAt.Add(-80 * time.Second), Interval: 30 * time.Second}, "evaluation_late", HealthOK, dedup.Normal, "below the warning limit of 90 s"},
		{"an empty outbox is normal", Self{}, "outbox_old", HealthOK, dedup.Normal, "no notification waits"},
		{"a notification of an hour is severe", Self{Outbox: Backlog{Oldest: readAt.Add(-time.Hour), Waiting: 7}}, "outbox_old", HealthOK, dedup.Severe, "has waited for its delivery for 1 h"},
		{"a disk of which nothing is known is no data", Self{}, "disk_nearly_full", HealthNoData, 0, "cannot be told"},
		{"a disk with room is normal", Self{DiskFree: share(0.5)}, "disk_nearly_full", HealthOK, dedup.Normal, "50.00 % full"},
		{"one with four percent left is severe", Self{DiskFree: share(0.04)}, "disk_nearly_full", HealthOK, dedup.Severe, "96.00 % full, at or above the severe limit of 95.00 %"},
		{"a delivery that was given up is severe", Self{Outbox: Backlog{Failed: 1, Errors: []string{"ops: 403"}}}, "delivery_failed", HealthOK, dedup.Severe, "1 notification given up by ops, at or above the severe limit of 1: 403"},
		{"each channel is named, up to three", Self{Outbox: Backlog{Failed: 1200, Errors: []string{"a: 404: gone", "b: x", "c: y", "d: z"}}},
			"delivery_failed", HealthOK, dedup.Severe, "1,200 notifications given up by a, b and 2 others, at or above the severe limit of 1: 404: gone"},
		{"a reason of a novel is told in short", Self{Outbox: Backlog{Failed: 2, Errors: []string{"a: " + strings.Repeat("ü", 5000), "b: x"}}},
			"delivery_failed", HealthOK, dedup.Severe, "2 notifications given up by a and b, at or above the severe limit of 1: " + strings.Repeat("ü", 200) + "…"},
		{"no failed delivery is normal", Self{}, "delivery_failed", HealthOK, dedup.Normal, "every channel took what it was sent"},
		{"the channel that takes none is named", Self{Outbox: Backlog{Oldest: readAt.Add(-time.Hour), Waiting: 7, Channel: "pager", Error: "it answered 503"}}, "outbox_old", HealthOK,
			dedup.Severe, "has waited for its delivery to pager for 1 h, at or above the severe limit of 1 h: it answered 503"},
		{"receivers that all take what they are sent are normal", Self{}, "delivery_in_part", HealthOK, dedup.Normal, "every receiver of a channel takes what it is sent"},
		{"one that takes nothing is let be for ten minutes", Self{ReceiverFaults: []ReceiverFault{{"pair", "am-2:9093", "it answered 503", readAt.Add(-time.Hour), readAt.Add(-time.Hour + 599*time.Second)}}},
			"delivery_in_part", HealthOK, dedup.Normal, "am-2:9093, one of the receivers of pair, took nothing of what it was sent for 9 m 59 s, below the warning limit of 10 m"},
		{"of several the one that took nothing for longest is named", Self{ReceiverFaults: []ReceiverFault{
			{"other", "b:1", "refused", readAt.Add(-2 * time.Hour), readAt.Add(-2*time.Hour + time.Minute)},
			{"pair", "am-2:9093", "it answered 503", readAt.Add(-time.Hour), readAt}}},
			"delivery_in_part", HealthOK, dedup.Warning, "am-2:9093, one of the receivers of pair, took nothing of what it was sent for 1 h, at or above the warning limit of 10 m: it answered 503"},
		{"an audit log that takes entries is normal", Self{}, "audit_refused", HealthOK, dedup.Normal, "takes entries"},
		{"one that refuses is severe", Self{AuditRefused: "no space left"}, "audit_refused", HealthOK, dedup.Severe, "takes no entry, and nothing can be acted on: no space left"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			js := judgedBy(t, NewRound(readAt, nil, tt.self))[tt.rule]
			if len(js) != 1 || js[0].Key != (Key{Rule: tt.rule, Kind: OfDashboard}) {
				t.Fatalf("judgements are %+v", js)
			}
			if j := js[0]; j.Health != tt.health || j.Enters != tt.enters || !strings.Contains(j.Why, tt.why) {
				t.Errorf("got %s and %s because %q, want %s and %s because %q", j.Health, j.Enters, j.Why, tt.health, tt.enters, tt.why)
			}
		})
	}
}

package rule

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// sharedRound has two pipelines that share a dead-letter queue in which 732 messages arrived within two minutes.
func sharedRound() *Round {
	snap := &dedup.Snapshot{Round: 1, At: readAt, Interval: 15 * time.Second, SharedKnown: true}
	for _, name := range []string{"orders", "billing"} {
		p := quietPipeline()
		p.Pipeline.Name = name
		p.DeadLetters.High, p.DeadLetters.Quality, p.DeadLetters.Why = 732, dedup.Derived, "dead is shared"
		w := windowOf(p, time.Hour)
		w.DeadLetterInflow.High, w.DeadLetterInflow.Covered = 732*30, 2*time.Minute
		snap.Pipelines = append(snap.Pipelines, *p)
	}
	snap.Pipelines[1].Pipeline.Labels = map[string]string{"team": "shop", "region": "eu"}
	inflow := perHourOf(732 * 30)
	inflow.N, inflow.Covered = 732, 2*time.Minute
	snap.SharedQueues = []dedup.SharedQueue{{QueueRef: dedup.QueueRef{Vhost: "/", Name: "dead"}, Broker: "main", Pipelines: []string{"orders", "billing"},
		Queues: []string{"legacy"}, Depth: exactly(732), Inflow: inflow}}
	return NewRound(readAt, snap, Self{})
}

func TestLettersThatMayBeAnothersPutNoPipelineInATier(t *testing.T) {
	said := judgedBy(t, sharedRound())
	for _, rule := range []string{"dead_letters", "dead_letter_inflow", "findings"} {
		for _, j := range said[rule] {
			if j.Health != HealthOK || j.Enters != dedup.Normal || j.Holds != dedup.Normal {
				t.Errorf("%s of %s: %s, enters %s: %s", rule, j.Key.Subject, j.Health, j.Enters, j.Why)
			}
		}
	}
	for rule, want := range map[string]dedup.Tier{"shared_dead_letters": dedup.Warning, "shared_dead_letter_inflow": dedup.Emergency} {
		js := said[rule]
		if len(js) != 1 || js[0].Enters != want || js[0].Key != (Key{Rule: rule, Kind: OfQueue, Subject: "main:dead"}) {
			t.Fatalf("%s: %+v; want one judgement of the queue, %s", rule, js, want)
		}
		if len(js[0].Evidence) == 0 || !strings.Contains(js[0].Evidence[0], "pipelines orders, billing, and of queue legacy that no pipeline has") {
			t.Errorf("%s: the evidence is %q", rule, js[0].Evidence)
		}
		if l := js[0].Labels; l["queue"] != "main:dead" || l["broker"] != "main" || l["team"] != "shop" || l["region"] != "" || l["pipeline"] != "" {
			t.Errorf("%s: labels %v; want those that both pipelines have, and the queue's", rule, l)
		}
		if back, ok := ParseKey(js[0].Key.String()); !ok || back != js[0].Key {
			t.Errorf("the key %s cannot be read again", js[0].Key)
		}
	}
}

func TestOwnLettersBesideSharedOnesStillCount(t *testing.T) {
	in := sharedRound()
	p := &in.Snapshot.Pipelines[0]
	p.DeadLetters.Low, p.DeadLetters.Value, p.DeadLetters.High = 3, 3, 735
	if j := judgedBy(t, in)["dead_letters"][0]; j.Enters != dedup.Warning || j.Value != 3 || !strings.Contains(strings.Join(j.Evidence, " "), "dead is shared") {
		t.Errorf("three of its own: %+v", j)
	}
	p.Baseline = &dedup.Baseline{Count: 735}
	if j := judgedBy(t, in)["dead_letters"][0]; j.Enters != dedup.Normal {
		t.Errorf("all acknowledged: %+v", j)
	}
}

func TestAcknowledgedMessagesOfASharedQueueAreNoAlert(t *testing.T) {
	in := sharedRound()
	in.Snapshot.SharedQueues[0].Acknowledged = 732
	if j := judgedBy(t, in)["shared_dead_letters"][0]; j.Enters != dedup.Normal || !strings.Contains(j.Why, "beside 732 acknowledged") {
		t.Errorf("%+v", j)
	}
}

func TestASharedQueueWhoseBrokerIsDownIsUnknown(t *testing.T) {
	in := sharedRound()
	q := &in.Snapshot.SharedQueues[0]
	q.Depth, q.Down = dedup.Unknown(dedup.Count, "broker main cannot be read"), []dedup.SourceHealth{{Name: "broker main", Kind: "broker", Tried: true, Err: "refused"}}
	if j := judgedBy(t, NewRound(readAt, in.Snapshot, Self{}))["shared_dead_letters"][0]; j.Health != HealthError || len(j.Unread) != 1 {
		t.Errorf("%+v; want an error that names the broker", j)
	}
}

func TestASharedQueueLeavesOnlyOnceTheTopologyWasRead(t *testing.T) {
	snap := sharedRound().Snapshot
	snap.SharedQueues, snap.SharedKnown = nil, false
	if SubjectsOf(snap).Known(OfQueue) {
		t.Error("after a restart nobody knows yet which queues are shared, and their alerts would resolve")
	}
	if snap.SharedKnown = true; !SubjectsOf(snap).Known(OfQueue) {
		t.Error("the topology was read, and its alerts stay for ever")
	}
}

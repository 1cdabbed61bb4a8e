package message

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/marker"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// known is a snapshot.
type known dedup.Snapshot

func (k known) Snapshot() *dedup.Snapshot { return (*dedup.Snapshot)(&k) }

func TestALookUpTellsOfAMovedMessageWhatBecameOfIt(t *testing.T) {
	for became, want := range map[string]struct{ tier, text string }{
		"":                    {dedup.Normal.String(), ""},
		jobs.BecameDone:       {dedup.Normal.String(), ""},
		jobs.BecameBack:       {dedup.Severe.String(), ", then dead again"},
		jobs.BecameFailed:     {dedup.Severe.String(), ", then failed"},
		jobs.BecameProcessing: {dedup.TierUnknown.String(), ""},
		jobs.BecameUnknown:    {dedup.TierUnknown.String(), ""},
	} {
		s := story{now: time.Now(), items: []jobs.JobItem{{ID: "m-1", At: time.Now(), Target: "orders", Outcome: "moved", Became: became}}}
		got := s.moves()[0]
		if got.Tier != want.tier || !strings.HasSuffix(got.Text.Short, "moved to orders"+want.text) && !strings.Contains(got.Text.Short, "“orders”"+want.text) {
			t.Errorf("%q: %s, %q", became, got.Tier, got.Text.Short)
		}
	}
}

func TestADeathIsToldOnceWhoeverTellsOfIt(t *testing.T) {
	at := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	death := message.Death{Queue: "orders", Reason: message.DeathRejected, Count: 1, Time: at}
	again, later := death, death
	again.Count, later.Time = 3, at.Add(time.Hour)
	s := story{now: at.Add(2 * time.Hour), scans: []deadletter.Scan{
		{ID: "a", At: at.Add(time.Minute), Queue: dedup.QueueRef{Name: "orders.dlq"}, Letters: []deadletter.Letter{{DeadLetter: dedup.DeadLetter{Ref: "r", Deaths: []message.Death{death}}}}},
		{ID: "b", At: at.Add(time.Hour), Queue: dedup.QueueRef{Name: "orders.dlq"}, Letters: []deadletter.Letter{{DeadLetter: dedup.DeadLetter{Ref: "r", Deaths: []message.Death{again}}}}},
	}, items: []jobs.JobItem{{Ref: "r", At: at.Add(90 * time.Minute), Outcome: "left", Death: &death}, {Ref: "q", At: at.Add(91 * time.Minute), Outcome: "moved", Death: &later}}}
	looks, moves, deaths := s.looks(), s.moves(), s.died()
	if len(looks) != 1 || len(moves) != 2 || len(deaths) != 2 {
		t.Fatalf("%d looks, %d moves, %d deaths", len(looks), len(moves), len(deaths))
	}
	if got := deaths[0].Text.Full; !strings.HasPrefix(got, "Died in orders: ") || !strings.HasSuffix(got, "first of 3 times") {
		t.Errorf("the death is %q", got)
	}
}

func TestAStorySaysWhoRequeuedAMessageWhyAndWhatCameOfIt(t *testing.T) {
	sent := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	job := jobs.JobSummary{ID: "J", By: "anna", Reason: "fix deployed", Do: admin.Requeue, Pipeline: "orders"}
	snaps := known{Pipelines: []dedup.PipelineStatus{{Pipeline: dedup.Pipeline{Name: "orders", Store: "orders"}}}}
	found := func(state dedup.State, since time.Time) marker.LookupResult {
		m := dedup.Marker{ID: "m-1", State: state, Since: since}
		return marker.LookupResult{Stores: []marker.LookupAnswer{{Store: "other", Found: []marker.Judged{{Sighting: dedup.Sighting{Marker: dedup.Marker{ID: "m-1", State: dedup.Failed}}}}},
			{Store: "orders", Found: []marker.Judged{{Sighting: dedup.Sighting{Marker: m}}}}}}
	}
	for name, c := range map[string]struct {
		found   marker.LookupResult
		outcome string
		do      admin.Move
		want    string
	}{
		"done since":              {found(dedup.Done, sent.Add(time.Second)), "moved", admin.Requeue, "Requeued by anna, “fix deployed”: moved to orders, then done"},
		"failed since":            {found(dedup.Failed, sent.Add(time.Second)), "moved", admin.Requeue, "Requeued by anna, “fix deployed”: moved to orders, then failed"},
		"done before":             {found(dedup.Done, sent.Add(-time.Hour)), "moved", admin.Requeue, "Requeued by anna, “fix deployed”: moved to orders; its marker is done since before that"},
		"done, nobody knows when": {found(dedup.Done, time.Time{}), "moved", admin.Requeue, "Requeued by anna, “fix deployed”: moved to orders; its marker is done now"},
		"no marker":               {marker.LookupResult{}, "moved", admin.Requeue, "Requeued by anna, “fix deployed”: moved to orders"},
		"dead again":              {marker.LookupResult{}, "moved", admin.Requeue, "Requeued by anna, “fix deployed”: moved to orders, then died again"},
		"left":                    {found(dedup.Done, sent.Add(time.Second)), "left", admin.Requeue, "Requeue by anna, “fix deployed”: left where it was"},
		"discarded":               {found(dedup.Done, sent.Add(time.Second)), "moved", admin.Discard, "Discarded by anna, “fix deployed”: moved to orders"},
		"came back":               {marker.LookupResult{}, "bounced", admin.RestoreLetters, "Restore by anna, “fix deployed”: it came back"},
	} {
		t.Run(name, func(t *testing.T) {
			job := job
			job.Do = c.do
			s := story{messages: New(Deps{Snapshots: snaps}), now: sent.Add(time.Hour), found: c.found, jobs: map[string]jobs.JobSummary{"J": job},
				items: []jobs.JobItem{{Job: "J", ID: "m-1", Ref: "r", At: sent.Add(300 * time.Millisecond), Target: "orders", Outcome: c.outcome}}}
			if name == "dead again" { // within the second: a death is dated by the second
				s.death(message.Death{Queue: "orders", Reason: message.DeathRejected, Time: sent})
			}
			if got := s.moves()[0].Text.Full; got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

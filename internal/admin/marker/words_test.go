package marker_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
)

// talkative is a shelf that says in its outcomes what it could not decode, as an actor may.
type talkative struct{ *shelf }

func (s talkative) Clear(context.Context, dedup.Sighting, bool, func(dedup.Sighting) error) dedup.Outcome {
	now := dedup.Sighting{Type: "string", Value: []byte("card 41-11"), Marker: dedup.Marker{
		Key: "msg:1", State: dedup.StateUnknown, Status: "card 41-11", Detail: `no state has the value "card 41-11"`, Owner: "card 41-11",
	}}
	return dedup.Outcome{Result: dedup.Changed, Text: "now unknown (" + now.Detail + ")", Now: &now}
}

func TestNothingThatIsKeptShowsAByteOfAValue(t *testing.T) {
	d := newDesk(t, func(deps *marker.Deps, _ *journal.DB) {
		deps.Stores[0].Actor = talkative{deps.Stores[0].Actor.(*shelf)}
	})
	s := processing("1")
	s.Value, s.Owner, s.Detail = []byte("token of card 41-11"), "token of card 41-11", "it begins with card 41-11"
	s.Retry = &dedup.RetryCounter{Key: "retry:1", Value: strings.Repeat("card 41-11", 20)}
	d.shelf.put(s)
	other := inState("2", dedup.StateUnknown)
	other.Value, other.Status, other.Detail = []byte("card 41-11"), "card 41-11", `no state has the value "card 41-11"`
	d.shelf.put(other)
	p := d.plan(t, ada, "1", "2")
	o := d.execute(t, ada, p)
	if results(o) != "changed meanwhile" || !strings.Contains(o.Outcomes[0].Outcome.Text, "now unknown (cannot be decoded)") {
		t.Errorf("%+v", o.Outcomes)
	}
	d.when(t, o.ID, func(marker.Operation) bool { return len(d.trail(t, o.ID)) == 4 })
	entries, err := d.Audit(t.Context(), operator, admin.AuditQuery{Limit: 100})
	if err != nil || len(entries) != 5 {
		t.Fatalf("%+v, %v", entries, err)
	}
	kept, err := json.Marshal([]any{p, o, entries})
	if err != nil || strings.Contains(string(kept), "41-11") {
		t.Errorf("%v: %s", err, kept)
	}
	if !strings.Contains(entries[1].Before, "processing by token sha256:") {
		t.Errorf("the owner is not told at all: %+v", entries[1])
	}
}

func TestTheMarkerOfAnInterruptedItemIsDescribedWithoutItsValue(t *testing.T) {
	d, j := forgetfulDesk(t, -1)
	a := &deafAudit{audit: d.db.Audit()} // else the audit would tell the outcome
	a.deaf(2, admin.Succeeded, admin.Failed)
	d.deps.Gate = admin.NewGate(a, d.db, d.deps.Log)
	d.restart(t)
	s := processing("1")
	s.Value = []byte("card 41-11")
	d.shelf.put(s)
	id, err := d.Execute(t.Context(), ada, marker.ExecuteRequest{PlanID: d.plan(t, ada, "1").ID, Reason: why})
	if err != nil {
		t.Fatal(err)
	}
	d.when(t, id, func(o marker.Operation) bool { return o.Stopped != "" })
	again := inState("1", dedup.StateUnknown)
	again.Value, again.Detail = []byte("card 41-11"), `no state has the value "card 41-11"`
	again.Since = time.Time{}
	d.shelf.put(again)
	j.heal()
	d.recoverNow(t)
	o := d.ended(t, id)
	kept, err := json.Marshal(o)
	if err != nil || o.Outcomes[0].Outcome.Now == nil || strings.Contains(string(kept), "41-11") {
		t.Errorf("%v: %s", err, kept)
	}
}

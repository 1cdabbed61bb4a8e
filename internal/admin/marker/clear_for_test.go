package marker_test

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

func TestMarkersAreClearedForTheirDeadLettersUnlessAnOwnerMayBeAtWork(t *testing.T) {
	d := newDesk(t, nil)
	d.round.Set(d.snapshot(dedup.Evidence{MaxProcessing: time.Minute}, nil))
	young, undated := processing("unsure-young"), processing("unsure-undated")
	young.Since, undated.Since = d.clock.Now().Add(-10*time.Second), time.Time{}
	present := inState("present-young", dedup.Present)
	present.Since = young.Since
	dateless := inState("present-undated", dedup.Present)
	dateless.Since = time.Time{}
	unknown := inState("garbled", dedup.StateUnknown)
	for _, s := range []dedup.Sighting{
		processing("dead"), processing("alive"), processing("unsure-old"), young, undated,
		inState("failed", dedup.Failed), inState("present", dedup.Present), inState("done", dedup.Done), unknown, present, dateless,
	} {
		d.shelf.put(s)
	}
	keys := []string{"msg:dead", "msg:alive", "msg:unsure-old", "msg:unsure-young", "msg:unsure-undated", "msg:failed", "msg:present", "msg:present-young", "msg:present-undated", "msg:done", "msg:garbled", "msg:gone", "msg:dead"}
	operation, outcomes, err := d.ClearFor(t.Context(), ada, admin.ClearForRequest{Store: "orders", Keys: keys, Reason: why})
	admintest.Must(t, err)
	for key, want := range map[string]string{
		"msg:dead":            "cleared",
		"msg:alive":           "refused: owner alive",
		"msg:unsure-old":      "cleared",
		"msg:unsure-young":    "refused: set less than 60 s ago",
		"msg:unsure-undated":  "refused: cannot tell whether its owner is alive",
		"msg:failed":          "cleared",
		"msg:present":         "cleared",
		"msg:present-young":   "refused: set less than 60 s ago",
		"msg:present-undated": "refused: it does not tell",
		"msg:done":            "refused: the work was done",
		"msg:garbled":         "refused: cannot be decoded",
		"msg:gone":            "gone",
	} {
		out := outcomes[key]
		text := string(out.Result)
		if out.Text != "" {
			text += ": " + out.Text
		}
		if !strings.HasPrefix(text, want) || d.shelf.has(key) == (want == "cleared" || want == "gone") {
			t.Errorf("%s: %s, is there: %t", key, text, d.shelf.has(key))
		}
	}
	o := d.ended(t, operation)
	if o.By != "ada" || o.Reason != why || len(o.Outcomes) != 4 || o.Outcomes[0].Restorable.IsZero() {
		t.Errorf("%+v", o)
	}
	if _, outcomes, err := d.ClearFor(t.Context(), ada, admin.ClearForRequest{Store: "orders", Keys: []string{"msg:done"}, Single: true, Reason: why}); err != nil || outcomes["msg:done"].Result != dedup.Cleared {
		t.Errorf("a single marker of done work: %+v, %v", outcomes, err)
	}
	_, outcomes, err = d.ClearFor(t.Context(), ada, admin.ClearForRequest{Store: "orders", Keys: []string{"msg:unsure-young"}, Single: true, Reason: why})
	if out := outcomes["msg:unsure-young"]; err != nil || out.Result != dedup.Refused || !d.shelf.has("msg:unsure-young") {
		t.Errorf("a single marker whose owner may be at it: %+v, %v", out, err)
	}
	if _, _, err := d.ClearFor(t.Context(), operator, admin.ClearForRequest{Store: "orders", Keys: keys, Reason: why}); dedup.KindOf(err) != dedup.Forbidden {
		t.Errorf("an operator may: %v", err)
	}
	if _, _, err := d.ClearFor(t.Context(), ada, admin.ClearForRequest{Store: "watched", Keys: keys, Reason: why}); dedup.KindOf(err) != dedup.Forbidden {
		t.Errorf("a store without acting credentials: %v", err)
	}
}

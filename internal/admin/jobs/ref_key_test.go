package jobs_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/admintest"
)

func keyedBy(key string) func(*jobs.DeadLettersDeps) {
	return func(d *jobs.DeadLettersDeps) { d.RefKey = message.RefKey(key) }
}

func TestAReferenceCannotBeMadeWithoutTheKeyAndLastsAsLongAsIt(t *testing.T) {
	w := newWard(t, keyedBy("k1"))
	w.die("a")
	plain := dedup.NewDeadLetter(deadQueue, w.queues[deadQueue.Name][0]).Ref
	scan := w.look(t)
	ref := scan.Letters[0].Ref
	if ref == plain || len(ref) != len(plain) {
		t.Fatalf("the reference is %s, plain it is %s", ref, plain)
	}
	if _, err := w.Letter(t.Context(), ada, scan.ID, plain); dedup.KindOf(err) != dedup.NotFound {
		t.Errorf("a guess at a message is told to be right: %v", err)
	}
	again := newDeadLetters(w.deps)
	t.Cleanup(func() { admintest.Must(t, again.Close(context.Background())) })
	later, err := again.Scan(t.Context(), ada, deadletter.ScanRequest{Pipeline: "orders", Queue: deadQueue.Name, Limit: 10})
	admintest.Must(t, err)
	if _, err := again.Letter(t.Context(), ada, later.ID, ref); err != nil {
		t.Errorf("the reference is lost with a restart: %v", err)
	}
	id := w.begin(t, move.Request{Scan: scan.ID, Refs: []string{ref}})
	if job := w.until(t, id, in(jobs.JobDone)); job.Moved != 1 || !slices.Equal(w.holds("orders"), []string{"a"}) {
		t.Errorf("%d were moved: %v", job.Moved, w.holds("orders"))
	}
	items, err := w.JobItems(t.Context(), ada, id, 0, 10)
	admintest.Must(t, err)
	if len(items) == 0 || items[0].Ref != ref {
		t.Errorf("the items are %+v", items)
	}
}

func TestAPlanOfAnOlderVersionMovesWhatItNamed(t *testing.T) {
	w := newWard(t, keyedBy("k1"))
	w.die("a", "b")
	plain := dedup.NewDeadLetter(deadQueue, w.queues[deadQueue.Name][0]).Ref
	scan := w.look(t)
	p, err := w.planMove(t, ada, move.Request{Scan: scan.ID, Refs: []string{scan.Letters[0].Ref}})
	admintest.Must(t, err)
	if !p.KeyedRefs {
		t.Fatal("a new plan has plain references")
	}
	old := p
	old.ID, old.KeyedRefs, old.Request.Refs = "OLDPLAN", false, []string{plain}
	admintest.Must(t, w.db.Jobs().SaveMovePlan(t.Context(), old))
	id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: old.ID, Reason: why, Confirm: old.Confirm})
	admintest.Must(t, err)
	if job := w.until(t, id, in(jobs.JobDone)); job.Moved != 1 || !slices.Equal(w.holds("orders"), []string{"a"}) {
		t.Errorf("%d were moved: %v", job.Moved, w.holds("orders"))
	}
}

func TestTheAuditHoldsNoHashOfABodyThatGuessesCanBeTriedAgainst(t *testing.T) {
	w := newWard(t, keyedBy("k1"))
	w.die("a")
	sum := sha256.Sum256(w.queues[deadQueue.Name][0].Body)
	scan := w.look(t)
	_, err := w.Reveal(t.Context(), ada, scan.ID, scan.Letters[0].Ref)
	admintest.Must(t, err)
	entries, err := w.db.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 2})
	admintest.Must(t, err)
	if plain := hex.EncodeToString(sum[:]); strings.Contains(entries[0].Detail, plain) || !strings.Contains(entries[0].Detail, "keyed hash ") {
		t.Errorf("the audit says %q", entries[0].Detail)
	}
}

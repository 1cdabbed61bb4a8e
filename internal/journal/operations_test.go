package journal

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
)

// begun keeps a plan of so many items and begins to carry it out.
func begun(t *testing.T, o *Operations, id string, items int) marker.Operation {
	t.Helper()
	at := time.Now().UTC().Truncate(time.Millisecond)
	op := marker.Operation{ID: id, By: "ada", Reason: "why", Started: at, Plan: marker.Plan{
		ID: "plan-" + id, Made: at, Request: marker.PlanRequest{Deed: admin.ClearMarkers, Store: "orders"}, Items: make([]marker.PlanItem, items),
	}}
	if err := o.SavePlan(t.Context(), op.Plan); err != nil {
		t.Fatal(err)
	}
	if holder, err := o.Begin(t.Context(), op, ""); err != nil || holder != id {
		t.Fatalf("%q, %v", holder, err)
	}
	return op
}

func TestWhatAStoreWroteComesBackByteForByte(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Just(byteMark+"eA=="), rapid.Just("\x00"))
	rapid.Check(t, func(rt *rapid.T) {
		s := dedup.Sighting{
			Marker: dedup.Marker{
				ID: text.Draw(rt, "id"), Key: text.Draw(rt, "key"), Status: text.Draw(rt, "status"), BusinessKey: text.Draw(rt, "business key"),
				Owner: text.Draw(rt, "owner"), Detail: text.Draw(rt, "detail"), Attempts: rapid.Ptr(rapid.Int64(), true).Draw(rt, "attempts"),
			},
			Server: text.Draw(rt, "server"), ExpiresMillis: rapid.Int64().Draw(rt, "expires"),
			Retry: &dedup.RetryCounter{Key: text.Draw(rt, "retry"), Value: text.Draw(rt, "count")},
		}
		p := marker.Plan{ID: "p", Items: []marker.PlanItem{{Seen: s}}, LeftOut: []marker.LeftOut{{Key: s.Key, ID: s.ID, Why: "gone"}},
			Request: marker.PlanRequest{Keys: []string{s.Key}, Filter: &marker.MarkerFilter{Match: s.ID}}}
		packed, err := encodePlan(p)
		if err != nil {
			rt.Fatal(err)
		}
		if back, err := decodePlan(packed); err != nil || !reflect.DeepEqual(back, p) {
			rt.Fatalf("%+v, want %+v: %v", back, p, err)
		}
		s.Expires = time.UnixMilli(s.ExpiresMillis) // any year
		packed, err = encodeSighting(s)
		if err != nil {
			rt.Fatal(err)
		}
		if back, err := decodeSighting(packed); err != nil || back.Key != s.Key || back.ExpiresMillis != s.ExpiresMillis {
			rt.Fatalf("%+v, want %+v: %v", back, s, err)
		}
	})
}

func TestAnItemIsTriedOnceAndHasOneOutcome(t *testing.T) {
	db, _ := open(t, t.TempDir())
	o := db.Operations()
	begun(t, o, "a", 3)
	if err := o.Try(t.Context(), "a", 1, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := o.Try(t.Context(), "a", 1, time.Now()); !errors.Is(err, marker.ErrTried) {
		t.Errorf("tried again: %v", err)
	}
	if err := o.Done(t.Context(), "a", marker.ItemOutcome{Item: 2, At: time.Now()}); err == nil {
		t.Error("an item that was not tried has an outcome")
	}
	op, ok, err := o.Operation(t.Context(), "a")
	if err != nil || !ok || !op.Outcomes[1].Begun || op.Outcomes[0].Begun || len(op.Outcomes) != 3 {
		t.Errorf("%+v, %v", op.Outcomes, err)
	}
	now := dedup.Sighting{Marker: dedup.Marker{Key: "\xff"}, Value: []byte("payload")}
	out := marker.ItemOutcome{Item: 1, At: time.Now(), Outcome: dedup.Outcome{Result: dedup.Changed, Text: "now done", Now: &now}}
	if err := o.Done(t.Context(), "a", out); err != nil {
		t.Fatal(err)
	}
	if err := o.Done(t.Context(), "a", out); err == nil {
		t.Error("an outcome was overwritten")
	}
	op, _, err = o.Operation(t.Context(), "a")
	if got := op.Outcomes[1]; err != nil || got.Begun || got.Outcome.Result != dedup.Changed || got.Outcome.Now.Key != "\xff" || got.Outcome.Now.Value != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAPlanIsClaimedOnce(t *testing.T) {
	db, _ := open(t, t.TempDir())
	o := db.Operations()
	op := begun(t, o, "a", 1)
	op.ID = "b"
	if holder, err := o.Begin(t.Context(), op, ""); err != nil || holder != "a" {
		t.Errorf("%q, %v", holder, err)
	}
	if _, operation, ok, err := o.Plan(t.Context(), op.Plan.ID); operation != "a" || !ok || err != nil {
		t.Errorf("%q, %v", operation, err)
	}
	if ids, err := o.Unfinished(t.Context()); err != nil || len(ids) != 1 || ids[0] != "a" {
		t.Errorf("%v, %v", ids, err)
	}
}

func TestATokenOfOnePersonBelongsToOnePlan(t *testing.T) {
	db, _ := open(t, t.TempDir())
	o := db.Operations()
	op := begun(t, o, "a", 1)
	if plan, err := o.ByToken(t.Context(), "ada", ""); plan != "" || err != nil {
		t.Errorf("no token names %q, %v", plan, err)
	}
	start := func(id, by string) error {
		op.ID, op.Plan.ID, op.By = id, "plan-"+id, by
		if err := o.SavePlan(t.Context(), op.Plan); err != nil {
			t.Fatal(err)
		}
		_, err := o.Begin(t.Context(), op, "t-1")
		return err
	}
	if err := errors.Join(start("b", "ada"), start("c", "bob")); err != nil {
		t.Error(err)
	}
	if err := start("d", "ada"); !errors.Is(err, admin.ErrTokenUsed) {
		t.Errorf("the token started a second plan: %v", err)
	}
	if plan, err := o.ByToken(t.Context(), "ada", "t-1"); plan != "plan-b" || err != nil {
		t.Errorf("the token names %q, %v", plan, err)
	}
}

func TestAnOperationEndsOnlyWhenEveryItemThatWasBegunHasItsOutcome(t *testing.T) {
	db, _ := open(t, t.TempDir())
	o := db.Operations()
	begun(t, o, "a", 2)
	if err := o.Try(t.Context(), "a", 0, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := o.End(t.Context(), "a", time.Now(), false, ""); !errors.Is(err, marker.ErrUnderWay) {
		t.Errorf("ended with an item under way: %v", err)
	}
	// An earlier version of the program ended such operations.
	if _, err := o.write.ExecContext(t.Context(), "UPDATE operations SET ended_at = 1 WHERE id = 'a'"); err != nil {
		t.Fatal(err)
	}
	if ids, err := o.Unfinished(t.Context()); err != nil || len(ids) != 1 {
		t.Errorf("unfinished are %v, %v", ids, err)
	}
	if err := o.Done(t.Context(), "a", marker.ItemOutcome{Item: 0, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := o.End(t.Context(), "a", time.Now(), true, "again"); err != nil {
		t.Error(err)
	}
	if op, _, err := o.Operation(t.Context(), "a"); err != nil || op.Interrupted || op.Ended.UnixMilli() != 1 {
		t.Errorf("an end was overwritten: %+v, %v", op, err)
	}
	if ids, err := o.Unfinished(t.Context()); err != nil || len(ids) != 0 {
		t.Errorf("unfinished are %v, %v", ids, err)
	}
}

func TestTheClaimOfAnInterruptedRestoreIsTakenOverOnce(t *testing.T) {
	db, _ := open(t, t.TempDir())
	o := db.Operations()
	if err := o.Keep(t.Context(), "a", 0, dedup.Sighting{Value: []byte("processing")}, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		restore, interrupted string
		want                 error
	}{{"first", "", nil}, {"second", "", marker.ErrNoImage}, {"second", "other", marker.ErrNoImage}, {"second", "first", nil}, {"third", "first", marker.ErrNoImage}} {
		if _, err := o.Claim(t.Context(), "a", 0, c.restore, c.interrupted); !errors.Is(err, c.want) {
			t.Errorf("%s after %q: %v, want %v", c.restore, c.interrupted, err, c.want)
		}
	}
}

func TestAnImageIsClaimedOnceAndLeavesNoTraceWhenItIsPurged(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	o := db.Operations()
	value := bytes.Repeat([]byte("the payload of order 4711. "), 40_000) // a megabyte
	image := dedup.Sighting{Marker: dedup.Marker{Key: "msg:1", State: dedup.Processing}, Type: "string", Value: value, ExpiresMillis: 5}
	until := time.Now().Add(time.Hour)
	if err := o.Keep(t.Context(), "a", 0, image, until); err != nil {
		t.Fatal(err)
	}
	images, err := o.Images(t.Context(), "a")
	if k := images[0]; err != nil || k.Size != int64(len(value)) || len(k.Hash) != 64 || k.Seen.Value != nil || k.Seen.Key != "msg:1" {
		t.Errorf("%+v, %v", k, err)
	}
	got, err := o.Claim(t.Context(), "a", 0, "undo", "")
	if err != nil || !bytes.Equal(got.Value, value) || got.ExpiresMillis != 5 {
		t.Errorf("%d bytes, %v", len(got.Value), err)
	}
	for _, item := range []int{0, 1} {
		if _, err := o.Claim(t.Context(), "a", item, "another", ""); !errors.Is(err, marker.ErrNoImage) {
			t.Errorf("item %d: %v", item, err)
		}
	}
	if err := errors.Join(o.Release(t.Context(), "a", 0, "another"), o.Release(t.Context(), "a", 0, "undo")); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Claim(t.Context(), "a", 0, "another", ""); err != nil {
		t.Errorf("a released image: %v", err)
	}
	if err := o.Purge(t.Context(), until.Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if images, _ := o.Images(t.Context(), "a"); len(images) != 1 {
		t.Error("purged too early")
	}
	if err := o.Purge(t.Context(), until); err != nil {
		t.Fatal(err)
	}
	if images, _ := o.Images(t.Context(), "a"); len(images) != 0 {
		t.Error("not purged")
	}
	for name, text := range contents(t, dir) {
		if strings.Contains(text, "order 4711") {
			t.Errorf("%s still holds the payload", name)
		}
	}
}

func TestOldPlansAndOperationsArePurged(t *testing.T) {
	db, _ := open(t, t.TempDir())
	o := db.Operations()
	running, ended := begun(t, o, "running", 1), begun(t, o, "ended", 1)
	unused := marker.Plan{ID: "unused", Made: time.Now()}
	if err := errors.Join(o.SavePlan(t.Context(), unused), o.Try(t.Context(), "ended", 0, time.Now()),
		o.Done(t.Context(), "ended", marker.ItemOutcome{Item: 0, At: time.Now()}), o.End(t.Context(), "ended", time.Now(), false, "")); err != nil {
		t.Fatal(err)
	}
	exist := func() string {
		var there []string
		for _, id := range []string{running.Plan.ID, ended.Plan.ID, unused.ID} {
			if _, _, ok, err := o.Plan(t.Context(), id); ok && err == nil {
				there = append(there, id)
			}
		}
		return strings.Join(there, " ")
	}
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{time.Hour, "plan-running plan-ended unused"}, {keepPlans + time.Minute, "plan-running plan-ended"}, {keepOperations + time.Minute, "plan-running"}} {
		if err := o.Purge(t.Context(), time.Now().Add(c.after)); err != nil {
			t.Fatal(err)
		}
		if got := exist(); got != c.want {
			t.Errorf("after %s: %q, want %q", c.after, got, c.want)
		}
	}
}

func TestAJournalWithoutRoomKeepsNothingAndSaysSo(t *testing.T) {
	db, _ := open(t, t.TempDir())
	o := db.Operations()
	var pages int
	if err := o.write.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := o.write.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
	err := o.Keep(t.Context(), "a", 0, dedup.Sighting{Value: make([]byte, 1<<20)}, time.Now())
	if !isFull(err) {
		t.Errorf("error is %v", err)
	}
	if images, err := o.Images(t.Context(), "a"); err != nil || len(images) != 0 {
		t.Errorf("%v, %v", images, err)
	}
}

func TestTheAuditIsReadByTargetOperationAndPage(t *testing.T) {
	db, _ := open(t, t.TempDir())
	for i, target := range []string{"orders", "orders/msg:1", "orders/msg:2", "orders-eu/msg:1", "orders.x", "root", "orders0"} {
		e := admin.Entry{At: time.Unix(int64(i), 0), Operation: fmt.Sprint("op-", i%2), Target: target, Reason: "why", Before: "processing", After: "no marker", Hash: "ab"}
		if err := db.Audit().Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		query admin.TrailQuery
		want  string
	}{
		{"all, newest first", admin.TrailQuery{Limit: 10}, "7 6 5 4 3 2 1"},
		{"the next page", admin.TrailQuery{Limit: 2, Before: 6}, "5 4"},
		{"a store with its markers", admin.TrailQuery{Limit: 10, Target: "orders", Below: true}, "3 2 1"},
		{"one marker", admin.TrailQuery{Limit: 10, Target: "orders/msg:1"}, "2"},
		{"one operation", admin.TrailQuery{Limit: 10, Operation: "op-1"}, "6 4 2"},
		{"what never was", admin.TrailQuery{Limit: 10, Target: "' OR 1 --"}, ""},
	} {
		entries, err := db.Audit().Entries(t.Context(), c.query)
		if err != nil {
			t.Fatal(err)
		}
		var numbers []string
		for _, e := range entries {
			numbers = append(numbers, fmt.Sprint(e.Number))
		}
		if got := strings.Join(numbers, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	first, err := db.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 1, Before: 2})
	if err != nil || first[0].Reason != "why" || first[0].Before != "processing" || first[0].After != "no marker" || first[0].Hash != "ab" || !first[0].At.Equal(time.Unix(0, 0)) {
		t.Errorf("%+v, %v", first, err)
	}
}

func TestAnAuditOfTheFirstVersionStaysWhole(t *testing.T) {
	dir := t.TempDir()
	script, err := os.ReadFile("audit_migrations/001_audit.sql")
	if err != nil {
		t.Fatal(err)
	}
	old, err := sql.Open("sqlite", dsn(filepath.Join(dir, auditFile), "FULL", patience))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.ExecContext(t.Context(), string(script)+"; PRAGMA user_version = 1;"); err != nil {
		t.Fatal(err)
	}
	texts := []string{
		`{"at":"2026-01-02T03:04:05Z","operation":"o1","phase":"intent","who":"root","role":"admin","method":"link","from":"::1","action":"create_first_admin","target":"root","detail":""}`,
		`this is no JSON`, // a tampered text that nevertheless fits the chain must not keep the audit from being opened
	}
	var head []byte
	for i, text := range texts {
		head = link(nil, head, []byte(text))
		if _, err := old.ExecContext(t.Context(), "INSERT INTO audit (number, entry, hash) VALUES (?, ?, ?)", i+1, text, head); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	db, _ := open(t, dir)
	if err := db.Audit().Record(t.Context(), entry(3)); err != nil {
		t.Fatal(err)
	}
	if state, err := db.Audit().Verify(context.Background()); state.Entries != 4 || state.Unkeyed != 2 || err != nil {
		t.Errorf("%+v, %v", state, err)
	}
	entries, err := db.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 10})
	if err != nil || len(entries) != 4 || entries[3].Who != "root" || entries[2].Phase != "damaged" || entries[2].Number != 2 {
		t.Errorf("%+v, %v", entries, err)
	}
}

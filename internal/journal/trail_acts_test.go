package journal_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/journal"
)

// bulkAudit is an audit of a plan, a bulk clear of n markers, a refusal, and an action that was begun and has no outcome.
func bulkAudit(t *testing.T, n int) *journal.Audit {
	t.Helper()
	db, err := journal.Open(t.Context(), t.TempDir(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	at := time.Date(2026, 11, 20, 23, 59, 59, 900_000_000, time.UTC)
	record := func(operation, phase, who, action, target, detail string) {
		t.Helper()
		e := admin.Entry{At: at, Operation: operation, Phase: phase, Who: who, Action: action, Target: target, Detail: detail}
		if err := db.Audit().Record(context.Background(), e); err != nil {
			t.Fatal(err)
		}
		at = at.Add(50 * time.Millisecond)
	}
	record("P", admin.Planned, "ada", "plan_clear", "orders", "3 markers")
	record("A", admin.Intent, "ada", "clear_markers", "orders", "")
	for i := range n {
		target := fmt.Sprintf("orders/msg:%d", i)
		record("A", admin.Intent, "ada", "clear_marker", target, "")
		record("A", admin.Succeeded, "ada", "clear_marker", target, "cleared")
	}
	record("A", admin.Succeeded, "ada", "clear_markers", "orders", fmt.Sprintf("%d cleared", n))
	record("D", admin.Denied, "vera", "plan", "orders", "")
	record("B", admin.Intent, "bob", "restore_markers", "payments", "")
	return db.Audit()
}

func TestAnActionIsListedOnceWithItsOutcomeHoweverManyMarkersItHad(t *testing.T) {
	audit := bulkAudit(t, 3)
	dawn := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		filter admin.TrailFilter
		want   string
	}{
		"all":                    {admin.TrailFilter{}, "B intent, D denied, A succeeded 3 cleared, P planned"},
		"of a person":            {admin.TrailFilter{Who: "ada"}, "A succeeded 3 cleared, P planned"},
		"an action":              {admin.TrailFilter{Action: "clear_markers"}, "A succeeded 3 cleared"},
		"an outcome":             {admin.TrailFilter{Phase: admin.Succeeded}, "A succeeded 3 cleared"},
		"without an outcome":     {admin.TrailFilter{Phase: admin.Intent}, "B intent"},
		"refused":                {admin.TrailFilter{Phase: admin.Denied}, "D denied"},
		"from a day on":          {admin.TrailFilter{From: dawn}, "B intent, D denied"},
		"until the day before":   {admin.TrailFilter{To: dawn}, "A succeeded 3 cleared, P planned"},
		"a person and an action": {admin.TrailFilter{Who: "bob", Action: "clear_markers"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			acts, err := audit.Acts(t.Context(), admin.TrailQuery{Limit: 10, TrailFilter: c.filter})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range acts {
				text := a.Entry.Operation + " " + a.Entry.Phase
				if a.Outcome.Number > 0 {
					text = a.Entry.Operation + " " + a.Outcome.Phase + " " + a.Outcome.Detail
				}
				got = append(got, text)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("%s, want %s", strings.Join(got, ", "), c.want)
			}
		})
	}
}

func TestTheAuditIsNarrowedDownToQueuesAndPipelines(t *testing.T) {
	db, err := journal.Open(t.Context(), t.TempDir(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for i, e := range []admin.Entry{
		{Action: admin.MoveAction(admin.Requeue), Target: "main///orders.dlq"},
		{Action: "reveal_dead_letter", Target: "main/shop/orders.dlq/9f86"},
		{Action: "scan_dead_letters", Target: "orders.dlq"}, // refused before the queue was found
		{Action: admin.MoveAction(admin.RestoreLetters), Target: "main///dedup.parking.orders.dlq"},
		{Action: "pause_job", Target: "main///orders.dlq/job/J"},
		{Action: admin.MoveAction(admin.Requeue), Target: "main///my.orders.dlq"},
		{Action: admin.MoveAction(admin.Requeue), Target: "main///ORDERS.dlq"},
		{Action: "acknowledge_dead_letters", Target: "orders"},
		{Action: "clear_markers", Target: "orders-store"},
		{Action: "clear_marker", Target: "orders-store/orders.dlq"},
		{Action: "plan_clear", Target: "orders"}, // a store that is called as the pipeline is
	} {
		e.At, e.Phase, e.Operation = time.Now(), admin.Intent, fmt.Sprint(i)
		if err := db.Audit().Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		within []admin.TrailScope
		want   string
	}{
		"a queue with its messages and its parking queue": {[]admin.TrailScope{{Queue: "orders.dlq"}}, "4 3 2 1 0"},
		"a queue that nothing was done to":                {[]admin.TrailScope{{Queue: "other"}}, ""},
		"a hostile name":                                  {[]admin.TrailScope{{Queue: `%' OR 1 --`}}, ""},
		"no queue":                                        {[]admin.TrailScope{{}}, ""},
		"a pipeline with its queues and its store":        {[]admin.TrailScope{{Pipeline: "orders"}, {Queue: "orders.dlq"}, {Store: "orders-store"}}, "9 8 7 4 3 2 1 0"},
	} {
		t.Run(name, func(t *testing.T) {
			entries, err := db.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 20, Within: c.within})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				got = append(got, e.Operation)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
			acts, err := db.Audit().Acts(t.Context(), admin.TrailQuery{Limit: 20, Within: c.within})
			if want := len(strings.Fields(strings.Replace(c.want, "9 ", "", 1))); err != nil || len(acts) != want {
				t.Errorf("%d actions, want %d, %v", len(acts), want, err)
			}
		})
	}
}

func TestActionsArePagedByTheNumberOfTheirFirstEntry(t *testing.T) {
	audit := bulkAudit(t, 3)
	first, err := audit.Acts(t.Context(), admin.TrailQuery{Limit: 2})
	if err != nil || len(first) != 2 {
		t.Fatalf("%+v, %v", first, err)
	}
	rest, err := audit.Acts(t.Context(), admin.TrailQuery{Limit: 2, Before: first[1].Entry.Number})
	if err != nil || len(rest) != 2 || rest[0].Entry.Operation != "A" || rest[0].Outcome.Detail != "3 cleared" {
		t.Errorf("%+v, %v", rest, err)
	}
	entries, err := audit.Entries(t.Context(), admin.TrailQuery{Limit: 100})
	if err != nil || len(entries) != 11 {
		t.Errorf("the trail has %d entries, %v", len(entries), err)
	}
}

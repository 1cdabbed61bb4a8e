package journal

import (
	"fmt"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestMarksSurviveARestartInTheirOrder(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, dir)
	now := time.UnixMilli(1_800_000_000_123)
	late := dedup.Mark{At: now, Pipeline: "orders", Text: "<b>v2</b>", By: "ci", Made: now}
	early := dedup.Mark{At: now.Add(-time.Hour), Text: "switch moved", By: "ann", Made: now}
	for _, m := range []dedup.Mark{late, early} {
		if err := db.Marks().AddMark(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, _ = open(t, dir)
	got, err := db.Marks().MarksSince(t.Context(), now.Add(-2*time.Hour), 10)
	if err != nil || len(got) != 2 || got[0] != early || got[1] != late {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := db.Marks().MarksSince(t.Context(), now.Add(-2*time.Hour), 1); err != nil || len(got) != 1 || got[0] != late {
		t.Errorf("of many not the newest: %+v, %v", got, err)
	}
	if got, err := db.Marks().MarksSince(t.Context(), now.Add(time.Second), 10); err != nil || len(got) != 0 {
		t.Errorf("from the time before: %+v, %v", got, err)
	}
}

func TestMarksAreBoundedInNumberAndAge(t *testing.T) {
	db, _ := open(t, t.TempDir())
	now := time.UnixMilli(1_800_000_000_000)
	if _, err := db.acts.ExecContext(t.Context(), `
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?)
		INSERT INTO marks (at, pipeline, text, made_by, made_at) SELECT ?, '', 'm', 'ci', 0 FROM n`, maxMarks, now.UnixMilli()); err != nil {
		t.Fatal(err)
	}
	old := dedup.Mark{At: now.Add(-keepMarks - time.Second), Text: "old", Made: now.Add(-keepMarks)}
	for i, m := range []dedup.Mark{old, {At: now, Text: "newest", Made: now}} {
		if err := db.Marks().AddMark(t.Context(), m); err != nil {
			t.Fatal(i, err)
		}
	}
	all, err := db.Marks().MarksSince(t.Context(), time.Time{}, 2*maxMarks)
	if err != nil || len(all) != maxMarks || all[len(all)-1].Text != "newest" {
		t.Fatal(len(all), err)
	}
	for _, m := range all {
		if m.Text == "old" {
			t.Error(fmt.Sprint("a mark of ", m.At, " is still there"))
		}
	}
}

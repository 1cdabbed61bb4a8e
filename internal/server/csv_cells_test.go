package server

import (
	"context"
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/demo"
)

// cutPlans are plans that list fewer messages than they move.
type cutPlans struct{ *demo.Morgue }

func (c cutPlans) PlannedMove(ctx context.Context, who admin.Caller, id string) (move.Plan, string, error) {
	p, job, err := c.Morgue.PlannedMove(ctx, who, id)
	p.Matching = len(p.Letters) + 1
	return p, job, err
}

// tables returns the address of every table of the dashboard by its route, each as it is when something is left out of it.
func (s *site) tables() map[string][]string {
	doc := s.looked("inventory", inventoryDLQ, "10")
	scan := hiddenFields(doc.Find("form.act")).Get("scan")
	plan := s.planMoveOf("admin", doc, "requeue-selected", firstRef(doc))
	job := s.started(plan, url.Values{"reason": {"to see it"}})
	s.moved(job)
	s.deadLetters = cutPlans{s.morgue}
	s.withFailed(1500)
	st, _ := s.snapshots.Snapshot().Store("orders")
	st.Stats.Pass.UndatedGaveUp = 4
	p, _ := s.snapshots.Snapshot().Pipeline("orders")
	p.Effects = &dedup.EffectCheck{At: time.Now(), AtLeast: true, NullRows: 2, Keys: []dedup.EffectKey{{Key: "k", Count: 2}}}
	s.bench.result = hostileResult()
	measured := s.measuredBy("orders")
	return map[string][]string{
		"/measurements/{id}/repeated.csv":    {"/measurements/" + measured.ID + "/repeated.csv"},
		"/pipelines/{name}/chart.csv":        {"/pipelines/orders/chart.csv?chart=duplicates&range=1h"},
		"/pipelines/{name}/markers.csv":      {"/pipelines/orders/markers.csv?state=failed", "/pipelines/orders/markers.csv?state=gave-up"},
		"/pipelines/{name}/effects.csv":      {"/pipelines/orders/effects.csv"},
		"/pipelines/{name}/dead-letters.csv": {"/pipelines/inventory/dead-letters.csv?scan=" + scan},
		"/moves/{id}/keys.csv":               {plan + "/keys.csv"},
		"/jobs/{id}/items.csv":               {job + "/items.csv"},
	}
}

func TestEveryRowOfEveryTableHasACellForEachColumn(t *testing.T) {
	s := stocked(t, nil)
	s.history.answers = demo.History{}
	tables, notes := s.tables(), 0
	for _, route := range s.routes() {
		if !strings.HasSuffix(route.Path, ".csv") {
			continue
		}
		if len(tables[route.Path]) == 0 {
			t.Errorf("no table of %s is read", route.Path)
		}
		for _, at := range tables[route.Path] {
			res := s.as("admin", "GET", at, "")
			r := csv.NewReader(strings.NewReader(s.body(res)))
			r.FieldsPerRecord = -1
			rows, err := r.ReadAll()
			if err != nil || res.StatusCode != http.StatusOK || len(rows) < 1 {
				t.Errorf("%s: %s, %d rows, %v", at, res.Status, len(rows), err)
				continue
			}
			for i, row := range rows {
				if len(row) != len(rows[0]) {
					t.Errorf("%s: row %d has %d cells under %d columns: %q", at, i, len(row), len(rows[0]), row)
				}
				if strings.HasPrefix(row[0], "# ") {
					notes++
				}
			}
		}
	}
	if notes < 4 {
		t.Errorf("%d tables say that they are not whole", notes)
	}
}

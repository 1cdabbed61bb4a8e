package server

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/demo"
)

// withEffects is a site whose pipeline orders has this effect check.
func withEffects(t *testing.T, e *dedup.EffectCheck) *site {
	t.Helper()
	s := newSite(t, nil, testUsers())
	snap := demo.Scene("mixed", time.Now())
	p, _ := snap.Pipeline("orders")
	p.Effects = e
	s.snapshots.snap.Store(snap)
	return s
}

func TestDoubleEffectsAreShownInEveryState(t *testing.T) {
	now := time.Now()
	ran := func(change func(*dedup.EffectCheck)) *dedup.EffectCheck {
		e := &dedup.EffectCheck{Every: 15 * time.Minute, Timeout: 10 * time.Second, LastTry: now.Add(-time.Minute), At: now.Add(-time.Minute), Took: time.Second,
			Next: now.Add(14*time.Minute + 30*time.Second), Since: now.Add(-48 * time.Hour)}
		if change != nil {
			change(e)
		}
		return e
	}
	for name, tt := range map[string]struct {
		effects *dedup.EffectCheck
		want    []string
		rows    int
	}{
		"none is configured": {nil, []string{"No effect check", "effect_check:", "HAVING COUNT(*) > 1"}, 0},
		"it has not run yet": {&dedup.EffectCheck{Every: time.Hour, Next: now.Add(30 * time.Second)}, []string{"It has not run yet", "Runs every"}, 0},
		"it never succeeded": {&dedup.EffectCheck{Every: time.Hour, LastTry: now.Add(-time.Minute), Err: "MySQL at db refused the connection: check it", Next: now.Add(90 * time.Second)}, []string{"It has not succeeded yet", "refused the connection", "The next run is in"}, 0},
		"it found nothing":   {ran(nil), []string{"No business key was done more than once", "Last success"}, 0},
		"it timed out after that": {ran(func(e *dedup.EffectCheck) {
			e.Err = "MySQL at db did not end the effect check within 10s: add an index"
		}), []string{"did not end the effect check", "No business key was done more than once"}, 0},
		"it found some": {ran(func(e *dedup.EffectCheck) {
			e.Total, e.Fresh, e.Baseline = 2, 1, 1
			e.Keys = []dedup.EffectKey{{Key: "ORD-1", Count: 3, Found: now.Add(-time.Hour)}, {Key: "ORD-2", Count: 2}}
		}), []string{"2 business keys were done more than once", "1 new in the last 24 h", "1 there at the first check", "ORD-1", "at the first check"}, 2},
		"its answer was cut": {ran(func(e *dedup.EffectCheck) {
			e.Total, e.AtLeast = 1, true
			e.Keys = []dedup.EffectKey{{Key: "ORD-1", Count: 3}}
		}), []string{"At least 1 business key", "raise effect_check.max_rows"}, 1},
		"rows without a key":       {ran(func(e *dedup.EffectCheck) { e.NullRows, e.SingleRows = 3, 1 }), []string{"3 rows of the answer without a key", "add HAVING COUNT(*) > 1"}, 0},
		"a key that is empty text": {ran(func(e *dedup.EffectCheck) { e.Total = 1; e.Keys = []dedup.EffectKey{{Count: 2}} }), []string{"(empty)"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := withEffects(t, tt.effects)
			for _, at := range []string{"/pipelines/orders", "/pipelines/orders/effects"} {
				doc := s.page("viewer", at)
				part := doc.Find("#effects")
				if at != "/pipelines/orders" {
					part = doc.Find("#status")
				}
				text := oneLine(part)
				for _, want := range tt.want {
					if !strings.Contains(text, want) {
						t.Errorf("%s does not say %q: %s", at, want, text)
					}
				}
				if n := part.Find("tbody tr").Length(); n != tt.rows {
					t.Errorf("%s has %d rows, want %d", at, n, tt.rows)
				}
			}
		})
	}
}

func TestALongListOfDoubleEffectsHasPagesAndATable(t *testing.T) {
	e := &dedup.EffectCheck{Every: time.Minute, At: time.Now(), LastTry: time.Now(), Since: time.Now(), Total: 450, AtLeast: true}
	for range 450 {
		e.Keys = append(e.Keys, dedup.EffectKey{Key: "=HYPERLINK(\"http://evil\")\u202e", Count: 2, ID: "7f", Found: time.Now().Add(-time.Minute)})
	}
	s := withEffects(t, e)
	if n := s.page("viewer", "/pipelines/orders").Find("#effects tbody tr").Length(); n != 50 {
		t.Errorf("the pipeline's page lists %d", n)
	}
	for number, want := range map[string]int{"1": 200, "2": 200, "3": 50, "4": 0} {
		if n := s.page("viewer", "/pipelines/orders/effects?page="+number).Find("#status tbody tr").Length(); n != want {
			t.Errorf("page %s lists %d, want %d", number, n, want)
		}
	}
	if res := s.as("viewer", "GET", "/pipelines/orders/effects?page=-1", ""); res.StatusCode != http.StatusBadRequest {
		t.Errorf("page -1: %s", res.Status)
	}
	res := s.as("viewer", "GET", "/pipelines/orders/effects.csv", "")
	rows, err := csv.NewReader(res.Body).ReadAll()
	if err != nil || len(rows) != 452 || !strings.HasPrefix(rows[1][0], "'=HYPERLINK") || strings.Contains(rows[1][0], "\u202e") || rows[1][1] != "2" || !strings.HasPrefix(rows[451][0], "# ") {
		t.Errorf("the table: %d rows, %v", len(rows), err)
	}
	if got := res.Header.Get("Content-Disposition"); !strings.Contains(got, "orders-double-effects.csv") {
		t.Errorf("its name: %s", got)
	}
}

func TestDoubleEffectsByTheAPI(t *testing.T) {
	at := time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)
	s := withEffects(t, &dedup.EffectCheck{Every: 15 * time.Minute, At: at, LastTry: at, Since: at, Took: time.Second, Total: 1, Fresh: 1, Keys: []dedup.EffectKey{{Key: "ORD-1", ID: "7f", Count: 3, Found: at}}})
	var body struct {
		Every                  float64 `json:"every_seconds"`
		Total, Fresh, Baseline *int64
		Next                   *time.Time
		Keys                   []struct {
			Key   string `json:"business_key"`
			Found *time.Time
		}
	}
	if err := json.Unmarshal([]byte(s.body(s.as("viewer", "GET", "/api/v1/pipelines/orders/effects", ""))), &body); err != nil {
		t.Fatal(err)
	}
	if body.Total == nil || *body.Total != 1 || *body.Fresh != 1 || body.Every != 900 || len(body.Keys) != 1 || body.Keys[0].Key != "ORD-1" || !body.Keys[0].Found.Equal(at) || body.Next != nil {
		t.Errorf("%+v", body)
	}
	s = withEffects(t, &dedup.EffectCheck{Every: 15 * time.Minute, Err: "down", LastTry: at})
	text := s.body(s.as("viewer", "GET", "/api/v1/pipelines/orders/effects", ""))
	if !strings.Contains(text, `"total": null`) || !strings.Contains(text, `"error": "down"`) || !strings.Contains(text, `"keys": []`) {
		t.Errorf("before a run succeeded: %s", text)
	}
	if res := s.as("viewer", "GET", "/pipelines/orders/effects.csv", ""); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the table before a run succeeded: %s", res.Status)
	}
	s = withEffects(t, nil)
	for _, path := range []string{"/api/v1/pipelines/orders/effects", "/pipelines/orders/effects.csv", "/api/v1/pipelines/nowhere/effects", "/pipelines/nowhere/effects"} {
		if res := s.as("viewer", "GET", path, ""); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

package effects

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
	"dedup-dashboard/lab/webtest"
)

// siteOf is a site whose pipeline orders has this effect check.
func siteOf(t *testing.T, e *dedup.EffectCheck) *webtest.Site {
	t.Helper()
	round := &admintest.Round{}
	round.Set(&dedup.Snapshot{Round: 1, At: time.Now(), Interval: 15 * time.Second,
		Pipelines: []dedup.PipelineStatus{{Pipeline: dedup.Pipeline{Name: "orders", Store: "orders"}, Effects: e}}})
	return webtest.New(t, New(round))
}

// checked is a check that succeeded a minute ago, with these keys.
func checked(keys ...dedup.EffectKey) *dedup.EffectCheck {
	now := time.Now()
	return &dedup.EffectCheck{Every: 15 * time.Minute, Timeout: 10 * time.Second, LastTry: now.Add(-time.Minute), At: now.Add(-time.Minute), Took: time.Second,
		Next: now.Add(14 * time.Minute), Since: now.Add(-48 * time.Hour), Keys: keys, Total: int64(len(keys))}
}

func TestTheListShowsEachKeyWithItsCountAndWhetherItIsNew(t *testing.T) {
	s := siteOf(t, checked(dedup.EffectKey{Key: "ORD-1", Count: 3, Found: time.Now().Add(-time.Hour)}, dedup.EffectKey{Key: "ORD-2", Count: 2}, dedup.EffectKey{Count: 2}))
	rows := s.Page(webtest.As(auth.Viewer), "/pipelines/orders/effects").Find("tbody tr")
	for i, want := range []struct {
		key, count string
		fresh      int
	}{{"ORD-1", "3", 1}, {"ORD-2", "2", 0}, {"(empty)", "2", 0}} {
		row := rows.Eq(i)
		key, count := webtest.Text(row.Find("th")), webtest.Text(row.Find("td.num"))
		if fresh := row.Find(".chip.t-emergency").Length(); key != want.key || count != want.count || fresh != want.fresh {
			t.Errorf("row %d: %q, %q times, new %d; want %+v", i, key, count, fresh, want)
		}
	}
	if rows.Length() != 3 {
		t.Errorf("%d rows", rows.Length())
	}
}

func TestAListWithoutKeysHasNoTableAndNothingToDownload(t *testing.T) {
	failed := checked()
	failed.Err = "the server did not answer"
	for name, tt := range map[string]struct {
		check           *dedup.EffectCheck
		empty, problems int
		csv             dedup.Kind
	}{
		"none is configured": {nil, 1, 0, dedup.NotFound},
		"it has not run":     {&dedup.EffectCheck{Every: time.Hour}, 0, 0, dedup.Unavailable},
		"it never succeeded": {&dedup.EffectCheck{Every: time.Hour, LastTry: time.Now(), Err: "refused"}, 0, 1, dedup.Unavailable},
		"it found nothing":   {checked(), 0, 0, ""},
		"it failed later":    {failed, 0, 1, ""},
	} {
		s := siteOf(t, tt.check)
		page := s.Page(webtest.As(auth.Viewer), "/pipelines/orders/effects").Find("#status")
		if rows, links := page.Find("table").Length(), page.Find("a[download]").Length(); rows+links > 0 {
			t.Errorf("%s: %d tables, %d links to one", name, rows, links)
		}
		if empty, problems := page.Find(".empty").Length(), page.Find(".problem").Length(); empty != tt.empty || problems != tt.problems {
			t.Errorf("%s: %d empty states, %d problems", name, empty, problems)
		}
		if got := s.Get(webtest.As(auth.Viewer), "/pipelines/orders/effects.csv").Refused(); got != tt.csv {
			t.Errorf("%s: the table is refused as %q, want %q", name, got, tt.csv)
		}
	}
}

func TestAHostileKeyStaysAText(t *testing.T) {
	s := siteOf(t, checked(dedup.EffectKey{Key: webtest.Hostile, Count: 2}))
	if rows := s.Page(webtest.As(auth.Viewer), "/pipelines/orders/effects").Find("tbody tr"); rows.Length() != 1 {
		t.Errorf("%d rows", rows.Length())
	}
	var body checkJSON
	answer := s.Get(webtest.As(auth.Viewer), "/api/v1/pipelines/orders/effects")
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil || len(body.Keys) != 1 || body.Keys[0].Key != webtest.Hostile {
		t.Errorf("%v: %+v", err, body.Keys)
	}
}

func TestALongListHasAWayToItsOtherPages(t *testing.T) {
	keys := make([]dedup.EffectKey, 2*perPage+1)
	for i := range keys {
		keys[i] = dedup.EffectKey{Key: "ORD-" + strconv.Itoa(i), Count: 2}
	}
	s := siteOf(t, checked(keys...))
	for query, want := range map[string]struct{ rows, ways int }{"": {perPage, 1}, "?page=2": {perPage, 2}, "?page=3": {1, 1}} {
		page := s.Page(webtest.As(auth.Viewer), "/pipelines/orders/effects"+query)
		if rows, ways := page.Find("tbody tr").Length(), page.Find("nav.pager a").Length(); rows != want.rows || ways != want.ways {
			t.Errorf("%q: %d rows, %d ways", query, rows, ways)
		}
	}
}

func TestWhoMayNotSeeOrAsksForWhatIsNotThere(t *testing.T) {
	s := siteOf(t, checked())
	for _, path := range []string{"/pipelines/orders/effects", "/pipelines/orders/effects.csv", "/api/v1/pipelines/orders/effects"} {
		if got := s.Get(auth.Principal{}, path).Code; got != http.StatusForbidden {
			t.Errorf("%s to nobody: %d", path, got)
		}
	}
	for path, want := range map[string]dedup.Kind{"/pipelines/gone/effects": dedup.NotFound, "/pipelines/orders/effects?page=-1": dedup.Invalid} {
		if got := s.Get(webtest.As(auth.Viewer), path).Refused(); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

package server

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
)

// rowOf finds the row of a marker in a list.
func rowOf(doc *goquery.Document, key string) *goquery.Selection {
	return doc.Find("#" + web.Anchor("orders", key))
}

func TestAListSaysWhatAnOperationDidSinceItWasRead(t *testing.T) {
	s := stocked(t, nil)
	key := mustKey(t, s.firstOf(dedup.Orphan))
	at := s.plan(url.Values{"store": {"orders"}, "do": {"clear-selected"}, "sel": {web.EncodeKey(key)}})
	operation := s.as("admin", "POST", at+"/execute", url.Values{"reason": {"consumer 2 was killed"}}.Encode()).Header.Get("Location")
	s.ended(operation)

	row := rowOf(s.page("admin", "/pipelines/orders/markers"), key)
	if got := oneLine(row.Find(".changed")); !strings.HasPrefix(got, "cleared ") || !strings.HasSuffix(got, " by a") {
		t.Errorf("the row of the cleared marker says %q", got)
	}
	if href, _ := row.Find(".changed a").Attr("href"); href != operation {
		t.Errorf("it leads to %q, want %q", href, operation)
	}
	if row.Find("input").Length() > 0 || oneLine(row.Find(".c-verdict")) != "" {
		t.Error("a marker that is gone can be selected, or still has a verdict")
	}
	viewers := rowOf(s.page("viewer", "/pipelines/orders/markers"), key)
	if got := oneLine(viewers.Find(".changed")); !strings.HasPrefix(got, "cleared ") || strings.Contains(got, " by ") || viewers.Find(".changed a").Length() > 0 {
		t.Errorf("a viewer reads %q", got)
	}
	var list markersJSON
	s.api("/api/v1/pipelines/orders/markers", &list)
	changed := 0
	for _, m := range list.Markers {
		if m.Changed != nil {
			changed++
			if m.Key != key || m.Changed.Result != "cleared" || m.Changed.By != "" {
				t.Errorf("the API says of %s %+v", m.Key, *m.Changed)
			}
		}
	}
	if changed != 1 {
		t.Errorf("%d markers are changed by the API", changed)
	}

	// A marker that was set anew under the same key is another one.
	st, _ := s.snapshots.Snapshot().Store("orders")
	for i := range st.Stats.Pass.OldestProcessing {
		if m := &st.Stats.Pass.OldestProcessing[i]; m.Key == key {
			m.Since = time.Now().Add(time.Second)
		}
	}
	if rowOf(s.page("admin", "/pipelines/orders/markers"), key).Find(".changed").Length() > 0 {
		t.Error("a marker that began after the clear counts as cleared")
	}
	s.restock()
	st, _ = s.snapshots.Snapshot().Store("orders")
	st.Stats.Pass.Started = time.Now()
	if s.page("admin", "/pipelines/orders/markers").Find(".changed").Length() > 0 {
		t.Error("the next pass still shows what was done before it began")
	}
}

func TestAListSaysNothingOfAMarkerThatWasPutBack(t *testing.T) {
	s := stocked(t, nil)
	key := mustKey(t, s.firstOf(dedup.Orphan))
	at := s.plan(url.Values{"store": {"orders"}, "do": {"clear-selected"}, "sel": {web.EncodeKey(key)}})
	operation := s.as("admin", "POST", at+"/execute", url.Values{"reason": {"too early"}}.Encode()).Header.Get("Location")
	s.ended(operation)
	back := s.plan(url.Values{"do": {"restore"}, "operation": {strings.TrimPrefix(operation, "/operations/")}, "store": {"orders"}})
	s.ended(s.as("admin", "POST", back+"/execute", url.Values{"reason": {"it was alive"}}.Encode()).Header.Get("Location"))
	if row := rowOf(s.page("admin", "/pipelines/orders/markers"), key); row.Find(".changed").Length() > 0 || row.Find("input").Length() != 1 {
		t.Errorf("the row of the marker that was put back: %s", oneLine(row))
	}
}

package server

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	markerpage "dedup-dashboard/internal/server/page/marker"
	"dedup-dashboard/internal/server/web"
)

// withFailed puts n failed markers on the shelf and, as a pass does, the first 1,000 of them into its list.
func (s *site) withFailed(n int) {
	now := time.Now()
	var all []dedup.Marker
	for i := range n {
		id := fmt.Sprintf("failed-%05d", i)
		m := dedup.Marker{Store: "orders", ID: id, Key: "msg:" + id, State: dedup.Failed, Status: "failed", BusinessKey: "order:" + strconv.Itoa(i), Since: now.Add(time.Duration(i-n) * time.Second)}
		s.shelf.Put(dedup.Sighting{Marker: m, Type: "string", Value: []byte("failed"), ExpiresMillis: dedup.NoExpiry})
		all = append(all, m)
	}
	s.restock()
	st, _ := s.snapshots.Snapshot().Store("orders")
	st.Stats.Pass.States[dedup.Failed] = int64(n)
	st.Stats.Pass.FailedMarkers = all[:min(n, dedup.MaxListed)]
}

// table reads a CSV without its header.
func (s *site) table(path string) (rows [][]string, filename string) {
	s.t.Helper()
	res := s.as("viewer", "GET", path, "")
	body := s.body(res)
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != web.CSVType || rows[0][0] != "id" {
		s.t.Fatalf("%s: %s, %v: %.300s", path, res.Status, err, body)
	}
	return rows[1:], res.Header.Get("Content-Disposition")
}

func TestATableHoldsEveryLostMessageAlsoWhenAPassKeptTheFirstThousand(t *testing.T) {
	s := stocked(t, nil)
	s.withFailed(1500)
	link := s.page("viewer", "/pipelines/orders/markers?state=failed").Find("a[download]")
	if got := oneLine(link); got != "Download all as CSV, read live" {
		t.Errorf("the link says %q", got)
	}
	href, _ := link.Attr("href")
	rows, name := s.table(href)
	ids := map[string]bool{}
	for _, r := range rows {
		ids[r[0]] = true
	}
	if len(rows) != 1500 || len(ids) != 1500 || !ids["failed-01499"] || !strings.Contains(name, `orders-failed.csv`) {
		t.Errorf("%d rows, %d ids, as %s", len(rows), len(ids), name)
	}
	if some, _ := s.table(href + "&q=failed-0149"); len(some) != 10 {
		t.Errorf("%d rows match the filter, want 10", len(some))
	}
}

func TestATableThatIsCutSaysSoInItsNameAndItsLastRow(t *testing.T) {
	s := stocked(t, nil)
	s.withFailed(1500)
	s.shelf.Down = true
	rows, name := s.table("/pipelines/orders/markers.csv?state=failed")
	if last := rows[len(rows)-1][0]; len(rows) != 1001 || last != "# 500 more markers are not listed: the last pass kept the oldest 1,000" || !strings.Contains(name, "orders-failed-first-1000.csv") {
		t.Errorf("of a dead store %d rows, the last %q, as %s", len(rows), last, name)
	}
	s.shelf.Down = false
	st, _ := s.snapshots.Snapshot().Store("orders")
	st.Stats.Pass.UndatedGaveUp = 4
	rows, name = s.table("/pipelines/orders/markers.csv?state=gave-up")
	if last := rows[len(rows)-1][0]; last != "# 1 more marker is not listed: the last pass kept the oldest 3" || !strings.Contains(name, "orders-gave-up-first-3.csv") {
		t.Errorf("of those given up the last row is %q, as %s", last, name)
	}
	if got := oneLine(s.page("viewer", "/pipelines/orders/markers?state=gave-up").Find("a[download]")); got != "Download the first 3 as CSV" {
		t.Errorf("the link says %q", got)
	}
}

func TestATableNeverShortensAnID(t *testing.T) {
	s := stocked(t, nil)
	long := strings.Repeat("a", 1500) + "\n" + strings.Repeat("é", 1500)
	st, _ := s.snapshots.Snapshot().Store("orders")
	st.Stats.Pass.GaveUpMarkers[0].ID = long
	rows, _ := s.table("/pipelines/orders/markers.csv?state=gave-up")
	if want := strings.Repeat("a", 1500) + `\n` + strings.Repeat("é", 1500); rows[0][0] != want {
		t.Errorf("an id of %d bytes became one of %d", len(want), len(rows[0][0]))
	}
}

// endless is a store that has another page after each, until it fails.
type endless struct {
	markerpage.Service
	pages  int
	failAt int
	slow   time.Duration
}

func (e *endless) Browse(ctx context.Context, _ admin.Caller, _ string, q dedup.MarkerQuery) (marker.BrowsePage, error) {
	select {
	case <-ctx.Done():
		return marker.BrowsePage{}, ctx.Err()
	case <-time.After(e.slow):
	}
	if e.pages++; e.pages == e.failAt {
		return marker.BrowsePage{}, &dedup.Error{Kind: dedup.Unavailable, Public: "the store went away", Err: errors.New("EOF")}
	}
	var p marker.BrowsePage
	p.Next = "more"
	for i := range q.Limit {
		id := fmt.Sprintf("%d-%d", e.pages, i)
		p.Markers = append(p.Markers, dedup.Marker{ID: id, Key: "msg:" + id, State: dedup.Done})
	}
	p.Markers = append(p.Markers, p.Markers[0]) // a walk may meet a marker twice
	return p, nil
}

func TestALongTableIsBoundedByRowsByTimeAndByItsStore(t *testing.T) {
	for name, c := range map[string]struct {
		store endless
		rows  int
		last  string
	}{
		"by rows":                  {endless{}, 100_001, "# cut after 100,000 markers: filter the list for the others"},
		"by a store that fails":    {endless{failAt: 3}, 401, "# cut here, there may be more: the store went away"},
		"by time, in a slow store": {endless{slow: 9 * time.Second}, 1201, "# cut after 1 m: the rest of the store was not looked at"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stocked(t, nil)
			c.store.Service = s.keeper.Service
			s.keeper.Service = &c.store
			synctest.Test(t, func(t *testing.T) {
				snap := *s.snapshots.Snapshot()
				snap.At = time.Now()
				s.snapshots.snap.Store(&snap)
				rows, _ := s.table("/pipelines/orders/markers.csv?state=done")
				if last := rows[len(rows)-1][0]; len(rows) != c.rows || !strings.HasPrefix(last, c.last) {
					t.Errorf("%d rows, want %d; the last says %q", len(rows), c.rows, last)
				}
			})
		})
	}
}

// held is a store whose first page comes when the test lets it.
type held struct {
	markerpage.Service
	once       sync.Once
	began, end chan struct{}
}

func (h *held) Browse(ctx context.Context, who admin.Caller, store string, q dedup.MarkerQuery) (marker.BrowsePage, error) {
	h.once.Do(func() { close(h.began); <-h.end })
	return h.Service.Browse(ctx, who, store, q)
}

func TestOneLongTableIsReadAtATime(t *testing.T) {
	s := stocked(t, nil)
	slow := &held{Service: s.keeper.Service, began: make(chan struct{}), end: make(chan struct{})}
	s.keeper.Service = slow
	first := make(chan int)
	go func() { first <- s.as("viewer", "GET", "/pipelines/orders/markers.csv?state=done", "").StatusCode }()
	<-slow.began
	if res := s.as("viewer", "GET", "/pipelines/orders/markers.csv?state=done", ""); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("a second table: %s", res.Status)
	}
	close(slow.end)
	if status := <-first; status != http.StatusOK {
		t.Errorf("the first table: %d", status)
	}
	s.keeper.Service = slow.Service
	for range 2 {
		if rows, _ := s.table("/pipelines/orders/markers.csv?state=done"); len(rows) != 120 {
			t.Errorf("%d rows", len(rows))
		}
	}
}

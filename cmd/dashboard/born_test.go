package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/sync/errgroup"

	"dedup-dashboard/internal/config"
	"dedup-dashboard/lab/markerstest"
)

const bornToken = "a-token-of-a-viewer-0123456789012345678901234567"

// TestAMarkerBornWithoutExpiryIsOnThePageLongBeforeTheNextRound runs the whole program at an interval of 45 s, with store
// events on, and asks for the list of processing markers and for that of markers without an expiry: of the API, and the page
// that people see. It takes a part of a second, and that is far from the next round on a busy machine too, unless the marker
// is born just before one.
func TestAMarkerBornWithoutExpiryIsOnThePageLongBeforeTheNextRound(t *testing.T) {
	server, rdb := markerstest.StartRedis(t, "--notify-keyspace-events", "K$gxe")
	path := filepath.Join(t.TempDir(), "dashboard.yaml")
	text := fmt.Sprintf(`
server: {listen: "127.0.0.1:0", data_dir: %q}
collector: {interval: 45s}
brokers:
  - {name: main, management_url: "http://127.0.0.1:1", username: watcher, password: p}
stores:
  - {name: orders, preset: redis-text-status, redis: {url: %q}, events: true, sweep: {every: 1h}}
pipelines:
  - {name: orders, queues: [orders], store: orders}
auth: {tokens: [{name: v, role: viewer, token: %q}]}
`, t.TempDir(), server.URL(), bornToken)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var out, log output
	app, err := New(t.Context(), cfg, newLog(&log), &out)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var g errgroup.Group
	g.Go(func() error { return app.Run(ctx) })
	defer func() {
		stop()
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	}()

	base := "http://" + app.Addr().String()
	list := func(state string) string { return bornGet(t, base+"/api/v1/pipelines/orders/markers?state="+state) }
	rows := func(state string) string {
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(bornGet(t, base+"/pipelines/orders/markers?state="+state)))
		if err != nil {
			t.Fatal(err)
		}
		return doc.Find("main tbody tr").Text()
	}
	await(t, "complete pass on the page", func() bool {
		return strings.Contains(strings.ReplaceAll(list("processing"), " ", ""), `"total":0`)
	})
	await(t, "listening", func() bool { return strings.Contains(log.String(), "store events are counted") })
	born := time.Now()
	if err := rdb.SetNX(t.Context(), "msg:born-stuck", "processing", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"processing", "no-expiry"} {
		await(t, "marker in the list "+state, func() bool { return strings.Contains(list(state), "born-stuck") })
		await(t, "marker on the page "+state, func() bool {
			row := rows(state)
			return strings.Contains(row, "born-stuck") && strings.Contains(row, "never")
		})
	}
	took := time.Since(born)
	t.Logf("it was in both lists and on both pages after %s", took)
	if took > 15*time.Second {
		t.Errorf("the marker was in the lists and on the pages after %s", took)
	}
}

func bornGet(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+bornToken)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

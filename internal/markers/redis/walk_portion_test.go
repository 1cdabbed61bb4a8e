package redis_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

// TestAWalkAsksForExpiriesInPortionsOfTheSizeOfAPage lets the server tell which commands it runs: those who write wait for
// all that it is sent at once, pages and expiries alike.
func TestAWalkAsksForExpiriesInPortionsOfTheSizeOfAPage(t *testing.T) {
	t.Parallel()
	const done, count = 5000, 100
	server, rdb := markerstest.StartRedis(t)
	if err := markerstest.Fill(t.Context(), rdb, markerstest.TextStatus(), markerstest.Mix{Done: done}); err != nil {
		t.Fatal(err)
	}
	monitor, err := net.Dial("tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer monitor.Close()
	lines := bufio.NewScanner(monitor)
	if _, err := monitor.Write([]byte("MONITOR\r\n")); err != nil || !lines.Scan() || lines.Text() != "+OK" {
		t.Fatal(err, lines.Text(), lines.Err())
	}
	cfg := markerstest.Unthrottled(markerstest.Config(t, "redis-text-status", server.URL()))
	cfg.Sweep.Count = count
	if pass := markerstest.MustPass(t, markerstest.OpenStore(t, cfg)); pass.Matched != done {
		t.Errorf("%d markers were found, want %d", pass.Matched, done)
	}
	if err := rdb.Echo(t.Context(), "the walk has ended").Err(); err != nil {
		t.Fatal(err)
	}
	asked, most, portion := 0, 0, 0
	for lines.Scan() {
		switch line := strings.ToLower(lines.Text()); {
		case strings.Contains(line, `"pexpiretime"`):
			asked++
			portion++
			most = max(most, portion)
		case strings.Contains(line, `"time"`):
			portion = 0
		case strings.Contains(line, `"scan"`):
			if want := fmt.Sprintf(`"count" "%d"`, count); !strings.Contains(line, want) {
				t.Fatalf("a page without %s: %s", want, line)
			}
		case strings.Contains(line, "the walk has ended"):
			if asked < done || most > 2*count {
				t.Errorf("%d expiries were asked for, at most %d at once; want %d, and at most %d", asked, most, done, 2*count)
			}
			return
		}
	}
	t.Fatal("the server tells no more of its commands", lines.Err())
}

// TestADefaultWalkExaminesFewKeysAtOnce: writers wait for the longest command of ours.
func TestADefaultWalkExaminesFewKeysAtOnce(t *testing.T) {
	for _, name := range markers.PresetNames() {
		if cfg, _ := markers.Preset(name); strings.HasPrefix(cfg.Kind, "redis") && cfg.Sweep.Count > 100 {
			t.Errorf("%s examines %d keys at once", name, cfg.Sweep.Count)
		}
	}
}

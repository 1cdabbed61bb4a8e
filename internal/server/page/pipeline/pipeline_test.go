package pipeline

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestTheTrackCountsWhatHappenedAndNotItsLines(t *testing.T) {
	now := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	group := []dedup.Event{
		{At: ago(20 * time.Second), Kind: "consumer_restart", Text: "20 more consumers were restarted", Count: 20},
		{At: ago(10 * time.Second), Kind: "consumer_restart", Text: "2 consumers were restarted", Count: 2},
		{At: ago(8 * time.Second), Kind: "consumers_changed", Text: "Consumers went from 2 to 1"},
		{At: ago(5 * time.Second), Kind: "consumers_changed", Text: "Consumers went from 1 to 2"},
	}
	if got := trackEvent(group, now).Kind; got != "22 consumer restarts, 2 changes of the consumers" {
		t.Errorf("a crowd reads %q", got)
	}
	if got := trackEvent(group[:1], now).Kind; got != "20 consumer restarts" {
		t.Errorf("one event of many reads %q", got)
	}
	if got := trackEvent(group[2:3], now).Kind; got != "consumers changed" {
		t.Errorf("one change reads %q", got)
	}
	var closures []dedup.Event
	for i := range 2 * trackLimit {
		closures = append(closures, dedup.Event{At: ago(time.Duration(i) * time.Second), Kind: "channels_closed", Text: "x", Count: 75})
	}
	wide, n, rest := brokerWide(append(closures, group...), now)
	if n != 75*2*trackLimit || len(wide) != trackLimit || len(rest) != len(group) {
		t.Errorf("%d closures in %d lines, %d others", n, len(wide), len(rest))
	}
	if !strings.HasPrefix(times(n), "3,600") {
		t.Errorf("reads %q", times(n))
	}
}

func TestThePageSaysWhichSourcesNeverTellARateInAScheme(t *testing.T) {
	estimates := make([]dedup.Estimate, 0, len(dedup.Methods()))
	rate := dedup.Unknown(dedup.Ratio, "not told yet")
	rate.Better = "Change a setting"
	for _, m := range dedup.Methods() {
		estimates = append(estimates, dedup.Estimate{Method: m, Rate: rate})
	}
	for name, tt := range map[string]struct {
		scheme dedup.Scheme
		never  int
		alone  bool
	}{
		"a lock":           {dedup.Scheme{Kind: "redis-lock", Lock: true, Mark: "before", OnInFlight: "ack", OnFail: "delete"}, 6, true},
		"a marker of text": {dedup.Scheme{Kind: "redis-string", Mark: "before", OnInFlight: "nack", OnFail: "delete", DoneTTL: time.Hour}, 1, false},
	} {
		p := show.Judged{PipelineStatus: &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Store: "s"}, Windows: []dedup.WindowFigures{{Window: time.Hour, Estimates: estimates}}}}
		how := howView(&dedup.Snapshot{Stores: []dedup.StoreStatus{{Name: "s", Scheme: tt.scheme}}}, p, time.Now())
		never := 0
		for _, row := range how.Rows {
			if strings.HasPrefix(row.Why.Short, "Never in this scheme: ") {
				never++
			}
			if strings.HasPrefix(row.Why.Short, "Never") == (row.Better.Short != "") {
				t.Errorf("%s: %s: %q, advised: %q", name, row.Source, row.Why.Short, row.Better.Short)
			}
		}
		if how.Listens == tt.alone {
			t.Errorf("%s: the setting of Redis is shown: %v", name, how.Listens)
		}
		if never != tt.never || strings.Contains(how.Line, "unless its consumers report") != tt.alone {
			t.Errorf("%s: %d sources never tell, want %d: %q", name, never, tt.never, how.Line)
		}
	}
}

func TestThePageOfAPipelineNamesTheLockBesideItsMarkers(t *testing.T) {
	now := time.Now()
	p := &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Store: "flags", Lock: "locks"}}
	locks := dedup.StoreStatus{Name: "locks", Scheme: dedup.Scheme{Preset: "redisson-lock", OnInFlight: "wait", Lock: true},
		Stats: dedup.StoreStats{Pass: &dedup.Pass{Ended: now.Add(-time.Second), States: map[dedup.State]int64{dedup.Processing: 3}}}}
	for want, stores := range map[string][]dedup.StoreStatus{"locks: 3 held": {locks}, "locks: not walked over yet": {{Name: "locks"}}, "": {{Name: "others"}}} {
		v := &templates.PipelineView{}
		markerViews(v, &dedup.Snapshot{At: now, Stores: stores}, p, web.Reader{}, now)
		i := slices.IndexFunc(v.MarkerFacts, func(f templates.Fact) bool { return f.Label == "Lock" })
		if (i >= 0) != (want != "") || i >= 0 && !strings.HasPrefix(v.MarkerFacts[i].Value, want) {
			t.Errorf("%+v, want %q", v.MarkerFacts, want)
		}
	}
	if facts := identity(p); !slices.Contains(facts, templates.Fact{Label: "Lock", Value: "locks"}) {
		t.Errorf("%+v", facts)
	}
}

func TestTheOldestProcessingIsNoneOrUnknownWithItsReason(t *testing.T) {
	none := dedup.Unknown(dedup.Seconds, "no marker is processing")
	for _, tt := range []struct {
		name   string
		count  dedup.Figure
		oldest dedup.Figure
		want   string
	}{
		{"known", dedup.Exact(dedup.Measured, dedup.Count, 2, noon, ""), dedup.Exact(dedup.Derived, dedup.Seconds, 90, noon, ""), "1 m 30 s"},
		{"no processing marker", dedup.Exact(dedup.Measured, dedup.Count, 0, noon, ""), none, "none"},
		{"no processing marker beside ones that cannot be decoded", dedup.Figure{Quality: dedup.Measured, AtLeast: true},
			dedup.Unknown(dedup.Seconds, "2 markers could not be decoded and may be processing"), "unknown: 2 markers could not be decoded and may be processing"},
		{"the store is down", dedup.Unknown(dedup.Count, "the store does not answer"), dedup.Unknown(dedup.Seconds, "the store does not answer"), "unknown: the store does not answer"},
		{"no reading", dedup.Figure{}, dedup.Figure{}, "unknown: no reading yet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &dedup.PipelineStatus{Markers: map[dedup.State]dedup.Figure{dedup.Processing: tt.count}, OldestProcessing: tt.oldest}
			if got := oldestText(p); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEachFindingThatLinksToAListIsADocumentedKind(t *testing.T) {
	documented, err := os.ReadFile("../../../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]string{
		"marker_without_expiry": "no-expiry", "messages_given_up": "gave-up", "failed_and_acked": "failed",
		"stuck_markers": "processing", "looping": "processing", "head_blocked": "processing",
		"markers_undecodable": "unknown",
	}
	for kind, list := range lists {
		if !strings.Contains(string(documented), "| `"+kind+"` |") {
			t.Errorf("docs/findings.md does not know %s", kind)
		}
		if got := listOfFinding(kind); got != list {
			t.Errorf("%s links to the list %q, want %q", kind, got, list)
		}
	}
}

func TestARequeueIsOneMarkWhateverItSent(t *testing.T) {
	e := dedup.Event{At: noon, Kind: "job", Text: "Requeue of 1,200 messages of orders.dlq", Count: 1200}
	if got := trackEvent([]dedup.Event{e}, noon).Kind; got != "requeue by us" {
		t.Errorf("one reads %q", got)
	}
	if got := trackEvent([]dedup.Event{e, e}, noon).Kind; got != "2 requeues by us" {
		t.Errorf("two read %q", got)
	}
}

package server

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

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

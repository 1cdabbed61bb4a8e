package check

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/markerstest"
)

// TestCheckSaysWhereItLookedForCountersThatNobodyReports looks for the counters of a pipeline under its name.
func TestCheckSaysWhereItLookedForCountersThatNobodyReports(t *testing.T) {
	server, rdb := markerstest.StartRedis(t)
	if err := rdb.HSet(t.Context(), "dedupstats:orders", "processed", 7, "duplicate_done", 1).Err(); err != nil {
		t.Fatal(err)
	}
	if err := rdb.Set(t.Context(), "dedupstats:text", "7", 0).Err(); err != nil {
		t.Fatal(err)
	}
	store := storeOf(t, fmt.Sprintf("  preset: redis-text-status\n  redis: {url: %q}\n", server.URL()))
	for _, tt := range []struct {
		name, pipeline, of, want string
		fails                    bool
	}{
		{"another store was named, and consumers use another name", "ord", "sessions", "NOTE nothing is reported under dedupstats:ord in store orders, which reported", false},
		{"nothing was named", "ord", "orders", "  none: nothing is under dedupstats:ord in store orders, where they are looked for by default", false},
		{"consumers use this name", "orders", "orders", "  processed is counted\n  duplicate_done is counted\n", false},
		{"the key is no hash", "text", "orders", "NOT READABLE: Redis key dedupstats:text is not a hash", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			err := readReported(t.Context(), &out, slog.New(slog.DiscardHandler), dedup.Pipeline{Name: tt.pipeline, Store: tt.of, ReportedStore: store.Name}, store)
			if (err != nil) != tt.fails || !strings.Contains(out.String(), tt.want) {
				t.Errorf("%v, and does not say %q:\n%s", err, tt.want, out.String())
			}
		})
	}
}

// TestCheckQuotesTheSettingOfNotificationsOnce checks the line on store events for both settings.
func TestCheckQuotesTheSettingOfNotificationsOnce(t *testing.T) {
	for setting, want := range map[string]string{
		"K$gxe": `EVENTS notifications are on (notify-keyspace-events is "g$xeK")`,
		"":      `EVENTS notifications are off on the server (notify-keyspace-events is ""): CONFIG SET`,
	} {
		server, _ := markerstest.StartRedis(t, "--notify-keyspace-events", setting)
		printed, err := checked(t, fmt.Sprintf("  preset: redis-text-status\n  redis: {url: %q}\n  events: true\n", server.URL()))
		if err != nil || !strings.Contains(printed, want) {
			t.Errorf("%q: %v, and does not say %q:\n%s", setting, err, want, printed)
		}
	}
}

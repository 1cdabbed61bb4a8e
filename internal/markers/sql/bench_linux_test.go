package sql_test

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/markerstest"
)

// BenchmarkTableSweep walks over a million rows of message_dedup without a duty cycle. The metrics rows/s and
// rss_growth_MiB are what the budget is about; ns/op is one sweep.
func BenchmarkTableSweep(b *testing.B) {
	for _, driver := range markerstest.Drivers() {
		b.Run(markerstest.DriverName(driver), func(b *testing.B) {
			db := sqlServers.Database(b, driver)
			fillTable(b, db, 1_000_000)
			store := openTable(b, db, "sql-status-code", nil)
			before := markerstest.ResetPeak(b)
			var took time.Duration
			for b.Loop() {
				start := time.Now()
				pass := markerstest.MustPass(b, store)
				took += time.Since(start)
				if pass.Matched != 1_000_000 || pass.States[dedup.Processing] != 10_000 {
					b.Fatalf("matched %d, states %v", pass.Matched, pass.States)
				}
			}
			b.ReportMetric(1e6*float64(b.N)/took.Seconds(), "rows/s")
			b.ReportMetric(markerstest.Memory(b, "VmHWM")-before, "rss_growth_MiB")
		})
	}
}

// fillTable makes message_dedup with n rows, of which one in a hundred is processing; each business key has two ids.
func fillTable(t testing.TB, db *markerstest.Database, n int) {
	t.Helper()
	db.Exec(t, markerstest.DedupTables[db.Driver])
	source := map[string]string{
		"mysql": "SELECT CONCAT('message-', LPAD(seq, 12, '0')), CONCAT('order:', seq DIV 2), IF(seq % 100 = 0, 0, 1), REPEAT('x', 100), NOW() - INTERVAL seq % 86400 SECOND, NOW() - INTERVAL seq % 86400 SECOND FROM ",
		"postgres": "SELECT 'message-' || lpad(seq::text, 12, '0'), 'order:' || seq / 2, CASE WHEN seq % 100 = 0 THEN 0 ELSE 1 END, repeat('x', 100), " +
			"now() - seq % 86400 * interval '1 second', now() - seq % 86400 * interval '1 second' FROM ",
	}[db.Driver] + series(db, n)
	db.Exec(t, "INSERT INTO message_dedup (message_id, business_key, status, result, created_at, updated_at) "+source)
}

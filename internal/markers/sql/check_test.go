package sql_test

import (
	"slices"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
)

func TestStatusesOfRowsThatNobodyListsAreNamed(t *testing.T) {
	onEach(t, func(t *testing.T, db *markerstest.Database) {
		db.Exec(t, "CREATE TABLE m (message_id VARCHAR(20) PRIMARY KEY, status VARCHAR(20))",
			"INSERT INTO m VALUES ('a', 'COMPLETED'), ('b', 'COMPLETED'), ('c', 'IN_PROGRESS'), ('d', 'ZZZ'), ('e', NULL)")
		store := openTable(t, db, "sql-status-name", func(c *markers.Config) {
			c.Table, c.Columns = "m", markers.Columns{ID: markers.ColumnList{"message_id"}, Status: "status"}
		})
		report, err := store.Check(t.Context(), 20)
		if err != nil {
			t.Fatal(err)
		}
		want := []markers.Unmapped{{Status: "COMPLETED", Count: 2, Guess: dedup.Done}, {Status: "IN_PROGRESS", Count: 1, Guess: dedup.Processing}, {Status: "ZZZ", Count: 1}}
		if !slices.Equal(report.Unmapped, want) || !slices.Equal(report.Remedy, []string{"states: {processing: [PROCESSING, IN_PROGRESS], done: [SUCCESS, COMPLETED]}"}) {
			t.Errorf("unmapped %+v, remedy %q", report.Unmapped, report.Remedy)
		}
	})
}

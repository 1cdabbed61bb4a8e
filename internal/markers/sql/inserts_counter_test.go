package sql

import (
	"context"
	"database/sql"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/markers/sql/dialect"
)

var countedAt = time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)

// In whatever pieces the ids that are due are counted, the sums are those of one piece, and they are told all at once.
func TestIDsThatAreCountedInPiecesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := insertCounter{settle: time.Second}
		c.observe(countedAt, 1000, "here")
		ids := rapid.Int64Range(1, 100).Draw(t, "ids")
		c.observe(countedAt.Add(time.Minute), 1000+ids, "here")
		c.saw(ids)
		now := countedAt.Add(2 * time.Minute)
		for {
			span, ok := c.due(now)
			if !ok {
				break
			}
			if c.stats.IDs != 0 || span.low >= span.high {
				t.Fatalf("due is %+v, told are %+v", span, c.stats)
			}
			end := rapid.Int64Range(span.low+1, span.high).Draw(t, "end")
			c.settled(now, insertTally{rows: end - span.low, done: end - span.low}, end)
		}
		if s := c.stats; s.Why != "" || s.IDs != ids || s.Rows != ids || s.Done != ids || !s.At.Equal(countedAt.Add(time.Minute)) {
			t.Fatalf("%+v", s)
		}
	})
}

func TestMoreNewIDsThanCanBeInsertedBeginAnEpoch(t *testing.T) {
	for name, tt := range map[string]struct {
		from, to int64
		jumped   bool
	}{
		"a busy minute":         {1, 1 + mostNewIDs, false},
		"one id too many":       {1, 2 + mostNewIDs, true},
		"the last id there is":  {1, math.MaxInt64, true},
		"from below to the end": {math.MinInt64, math.MaxInt64, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := insertCounter{settle: time.Second}
			c.observe(countedAt, tt.from, "here")
			_, more := c.observe(countedAt.Add(time.Minute), tt.to, "here")
			if more == tt.jumped || (c.stats.Why != "") != tt.jumped || (c.stats.Epoch == 2) != tt.jumped {
				t.Errorf("more %t: %+v", more, c.stats)
			}
			if c.observe(countedAt.Add(12*time.Minute), tt.to, "here"); c.stats.Why != "" {
				t.Errorf("long after: %+v", c.stats)
			}
		})
	}
}

func TestCountingIDsEndsWithItsTime(t *testing.T) {
	db := sql.OpenDB(cachingMySQL{})
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	id := dialect.Column{Name: "id"}
	layout := &Layout{dialect: dialect.MySQL{}, Table: &dialect.Table{Schema: "shop", Name: "message_dedup", Indexes: []dialect.Index{{Columns: []string{"id"}}}}}
	r := &insertReader{dialect: mysqlInserts{}}
	tally := func(until time.Time) int64 {
		_, end, err := r.tallyIDs(context.Background(), conn, layout, id, insertRange{0, 3 * idsPerQuery}, until)
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	if end := tally(time.Now()); end != idsPerQuery {
		t.Errorf("without time it came up to %d", end)
	}
	if end := tally(time.Now().Add(time.Minute)); end != 3*idsPerQuery {
		t.Errorf("with time it came up to %d", end)
	}
}

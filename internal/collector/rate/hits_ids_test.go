package rate

import (
	"testing"

	"dedup-dashboard/internal/dedup"
)

func TestWhatPlainInsertsMetIsTheIDsThatWroteNoRow(t *testing.T) {
	ids := func(least, most int64) *[2]int64 { return &[2]int64{least, most} }
	begun := dedup.StatementStats{IDs: ids(1000, 1000)}
	for name, c := range map[string]struct {
		from, to    dedup.StatementStats
		asked, hits [2]float64
	}{
		"each wrote a row or met one":              {begun, dedup.StatementStats{Unfailed: 90, IDs: ids(1100, 1100)}, [2]float64{100, 100}, [2]float64{10, 10}},
		"two had not ended":                        {begun, dedup.StatementStats{Unfailed: 90, IDs: ids(1098, 1100)}, [2]float64{98, 100}, [2]float64{8, 10}},
		"three were under way when the time began": {dedup.StatementStats{IDs: ids(997, 1000)}, dedup.StatementStats{Unfailed: 90, IDs: ids(1100, 1100)}, [2]float64{100, 103}, [2]float64{10, 13}},
		"some insert or do nothing":                {begun, dedup.StatementStats{Inserts: 50, Met: 4, Unfailed: 44, IDs: ids(1100, 1100)}, [2]float64{100, 100}, [2]float64{10, 10}},
		"none met a row":                           {begun, dedup.StatementStats{Unfailed: 100, IDs: ids(1099, 1100)}, [2]float64{99, 100}, [2]float64{0, 0}},
		"no sequence gives ids":                    {dedup.StatementStats{}, dedup.StatementStats{Unfailed: 90}, [2]float64{}, [2]float64{}},
		"the ids were not read at first":           {dedup.StatementStats{}, dedup.StatementStats{Unfailed: 90, IDs: ids(1100, 1100)}, [2]float64{}, [2]float64{}},
		"a row brought its id along":               {begun, dedup.StatementStats{Unfailed: 90, OwnIDs: 1, IDs: ids(1100, 1100)}, [2]float64{}, [2]float64{}},
		"one inserted several rows":                {begun, dedup.StatementStats{Unfailed: 90, Unclear: 1, IDs: ids(1100, 1100)}, [2]float64{}, [2]float64{}},
		"the server dropped counts":                {begun, dedup.StatementStats{Unfailed: 90, Drops: 1, IDs: ids(1100, 1100)}, [2]float64{}, [2]float64{}},
		"more rows than ids":                       {begun, dedup.StatementStats{Unfailed: 101, IDs: ids(1100, 1100)}, [2]float64{}, [2]float64{}},
	} {
		got := StatementHits(dedup.Scheme{InsertFirst: true}, &c.from, &c.to, 0)
		switch counted := c.asked != [2]float64{}; {
		case counted && (got.Why != "" || !got.ByIDs || got.Asked != c.asked || got.Hits != c.hits):
			t.Errorf("%s: %+v", name, got)
		case !counted && (got.ByIDs || got.Why != uncountedFailures || got.Better != BetterIDs):
			t.Errorf("%s is not refused: %+v", name, got)
		}
	}
	looks := StatementHits(dedup.Scheme{Mark: "after"}, &begun, &dedup.StatementStats{Questions: 100, Found: 6, Unfailed: 92, IDs: ids(1095, 1095)}, 0)
	if looks.ByIDs || looks.Hits != [2]float64{6, 8} {
		t.Errorf("consumers that look first: %+v", looks)
	}
}

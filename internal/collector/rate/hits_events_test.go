package rate

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

func TestHitsAreQuestionsLessMissesOfConsumers(t *testing.T) {
	at := time.Unix(1000, 0)
	reads, claims := dedup.Scheme{Ask: "EXISTS", Mark: "after"}, dedup.Scheme{Ask: "SETNX", Mark: "before"}
	for name, c := range map[string]struct {
		scheme   dedup.Scheme
		from, to sample.EventReading
		hits     [2]float64
		why      string
	}{
		"misses":               {reads, sample.EventReading{At: at, Asked: 10, Missed: 10, MissedKnown: true}, sample.EventReading{At: at.Add(time.Minute), Asked: 110, Missed: 107, MissedKnown: true}, [2]float64{3, 3}, ""},
		"ours are no misses":   {reads, sample.EventReading{At: at, MissedKnown: true, OwnMissed: [2]float64{1, 2}}, sample.EventReading{At: at.Add(time.Minute), Asked: 100, Missed: 107, MissedKnown: true, OwnMissed: [2]float64{12, 13}}, [2]float64{3, 5}, ""},
		"not told at first":    {reads, sample.EventReading{At: at}, sample.EventReading{At: at.Add(time.Minute), Asked: 100, Missed: 5, MissedKnown: true}, [2]float64{}, "not told for long enough"},
		"claims":               {claims, sample.EventReading{At: at}, sample.EventReading{At: at.Add(time.Minute), Asked: 100, Claims: 96}, [2]float64{4, 4}, ""},
		"never less than none": {claims, sample.EventReading{At: at}, sample.EventReading{At: at.Add(time.Minute), Asked: 90, Claims: 96}, [2]float64{0, 0}, ""},
	} {
		got := EventHits(c.scheme, []sample.EventReading{c.from, c.to}, 0, 1)
		if got.Hits != c.hits || !strings.Contains(got.Why, c.why) || (got.Why == "") != (c.why == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

package counter

import (
	"log/slog"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/series"
)

// What is remembered of the rounds must say the same as the history that they were stored in, through births, gaps
// of a source and counters of an earlier run.
func TestRememberedWindowsAgreeWithTheHistory(t *testing.T) {
	const testInterval = 15 * time.Second
	rapid.Check(t, func(rt *rapid.T) {
		history, err := series.Open(series.Config{Dir: t.TempDir(), Retention: 24 * time.Hour, MaxBytes: 1 << 28, Interval: testInterval}, slog.New(slog.DiscardHandler))
		if err != nil {
			rt.Fatal(err)
		}
		defer history.Close()
		<-history.Ready()
		book := NewBook()
		past := NewPast(book, history, testInterval, nil, slog.New(slog.DiscardHandler))
		tallies := []*Tally{book.Tally(series.BrokerAcks, "pipeline", "a"), book.Tally(series.BrokerAcks, "pipeline", "b")}
		now := time.Now().Add(-2 * time.Hour)
		past.Join(rt.Context(), now)
		rounds := rapid.IntRange(61, 90).Draw(rt, "rounds")
		for range rounds {
			now = now.Add(testInterval)
			stored := Batch{}
			for i, tl := range tallies {
				switch what := rapid.IntRange(0, 19).Draw(rt, "what"); {
				case what == 0 && i == 1: // its source is down
					continue
				case what > 8 || tl.Open:
					tl.Take(sample.Step{Delta: int64(what)})
				}
				stored.Tallies(tl)
			}
			past.Append(rt.Context(), now, stored)
			if past.Failure != "" {
				rt.Fatal(past.Failure)
			}
		}
		for _, w := range []time.Duration{5 * time.Minute, 15 * time.Minute} {
			if !past.recent.reaches(now, w) {
				rt.Fatalf("%d rounds do not reach %s back", rounds, w)
			}
			remembered := past.recent.gains(now, w, book)
			changes, err := history.Changes(rt.Context(), series.BrokerAcks, now, w)
			if err != nil {
				rt.Fatal(err)
			}
			if len(changes) != len(remembered) {
				rt.Errorf("%s: the history knows %d changes, memory %d", w, len(changes), len(remembered))
			}
			for _, ch := range changes {
				got := remembered[Key(series.BrokerAcks, ch.Labels)]
				if got.Delta != ch.Delta || math.Abs((got.Covered-min(ch.To.Sub(ch.From), w)).Seconds()) > 0.01 {
					rt.Errorf("%s %v: remembered %+v, the history says %+v", w, ch.Labels, got, ch)
				}
			}
		}
	})
}

package events

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

func TestTheTrailKnowsWhatEventsCameToAtEachMomentOfTheLastSeconds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		began := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
		var trail trail
		type noted struct {
			at time.Time
			dedup.EventCounts
		}
		all := []noted{{began, dedup.EventCounts{Epoch: 1}}}
		trail.note(began, all[0].EventCounts)
		for range rapid.IntRange(0, 3*trailLength).Draw(t, "events") {
			last := all[len(all)-1]
			last.at = last.at.Add(time.Duration(rapid.IntRange(0, 12_000).Draw(t, "us")) * time.Microsecond)
			last.Completions++
			if rapid.IntRange(0, 2000).Draw(t, "gap") == 0 {
				last.EventCounts = dedup.EventCounts{Epoch: last.Epoch + 1}
				all = nil
			}
			trail.note(last.at, last.EventCounts)
			all = append(all, last)
		}
		newest := all[len(all)-1].at
		oldest := newest.Add(-10 * time.Second)
		if oldest.Before(all[0].at) {
			oldest = all[0].at
		}
		when := oldest.Add(time.Duration(rapid.Int64Range(0, int64(newest.Sub(oldest))+int64(time.Second)).Draw(t, "when")))
		got, ok := trail.at(when)
		// What came within a step after the moment may count.
		var least, most int64
		for _, n := range all {
			if !n.at.After(when) {
				least = n.Completions
			}
			if !n.at.After(when.Add(trailStep)) {
				most = n.Completions
			}
		}
		if !ok || got.Completions < least || got.Completions > most || got.Epoch != all[0].Epoch {
			t.Fatalf("%t %+v at %s, want %d to %d", ok, got, when, least, most)
		}
		if _, ok := trail.at(all[0].at.Add(-time.Nanosecond)); ok && len(all) <= trailLength && len(trail.steps) <= trailLength {
			t.Fatal("it knows what was before it began")
		}
	})
}

// TestTheTrailReachesBackToTheLastScrape: a server that scrapes consumers has samples that are a minute old.
func TestTheTrailReachesBackToTheLastScrape(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	var trail trail
	const each = 3 * time.Millisecond
	now := began
	for i := range int64(100_000) { // five minutes
		now = began.Add(time.Duration(i) * each)
		trail.note(now, dedup.EventCounts{Epoch: 1, Completions: i})
	}
	if len(trail.steps) > trailMost {
		t.Errorf("%d steps are kept", len(trail.steps))
	}
	for _, age := range []time.Duration{0, 5 * time.Second, 20 * time.Second, 60 * time.Second, 85 * time.Second} {
		when := now.Add(-age)
		got, ok := trail.at(when)
		if want := int64(when.Sub(began) / each); !ok || got.Completions > want+2 || got.Completions < want-10 {
			t.Errorf("%s ago: %d, %v; want %d", age, got.Completions, ok, want)
		}
	}
}

// TestMomentsAtWhichEventsWereHeardLateAreTold: of an answer that takes long nobody knows how late what came before it was heard. A server that is
// always as far away is none of these.
func TestMomentsAtWhichEventsWereHeardLateAreTold(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	var trail trail
	trail.note(began, dedup.EventCounts{Epoch: 1})
	for _, took := range []int{130, 125, 800, 140, 128} {
		trail.note(at(500), dedup.EventCounts{Epoch: 1, Completions: 3})
		trail.answered(at(1000), at(1000+took))
	}
	trail.woken(at(4000), at(4000).Add(sessionTick+trailLate))
	trail.woken(at(5000), at(5300))
	for ms, late := range map[int]bool{100: false, 199: false, 200: true, 1000: true, 1800: true, 1801: false, 4100: false, 4999: false, 5000: true, 5300: true, 5301: false} {
		if c, ok := trail.at(at(ms)); !ok || c.Late != late {
			t.Errorf("%d ms: %t %+v, want late %t", ms, ok, c, late)
		}
	}
	trail.delayed(at(100_000), at(100_001))
	if len(trail.delays) != 1 {
		t.Errorf("%d delays are kept", len(trail.delays))
	}
}

// TestASlowAnswerOfTheStoreMakesItsMomentLate: what a session asks each second tells.
func TestASlowAnswerOfTheStoreMakesItsMomentLate(t *testing.T) {
	asked := bookDay.Add(time.Hour)
	s := sessionOf(t, asked)
	for _, took := range []time.Duration{time.Millisecond, time.Second} {
		s.synced = asked
		_ = s.sync(wireValue{text: "# Server\r\nredis_version:7.0.15\r\n"}, asked.Add(took))
	}
	if len(s.l.trail.delays) != 1 {
		t.Errorf("%v, want one delay", s.l.trail.delays)
	}
}

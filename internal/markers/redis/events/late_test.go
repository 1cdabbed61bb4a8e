package events

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

// TestWhatEventsCameToIsNotSaidBeforeAllOfThemAreUnderstood: sets that may be completions of claims that nobody saw are asked about a while
// later. What is said of a moment is right, also where it is told of a completion only later, and what was said never changes.
func TestWhatEventsCameToIsNotSaidBeforeAllOfThemAreUnderstood(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		began := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
		var trail trail
		book := newBook(rules{way: wayTwoSteps, processing: 5 * time.Minute, deletes: true, expiring: true}, began, 0)
		trail.take(began, book)
		type asked struct {
			doubt
			is  found
			due time.Time
		}
		var waiting []asked
		var completed []time.Time // the truth
		open := map[string]bool{}
		said := map[time.Time]dedup.EventCounts{}
		now := began
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(1, 150).Draw(t, "ms")) * time.Millisecond)
			for _, d := range book.doubts(now, 100) {
				waiting = append(waiting, asked{doubt: d, is: foundClaim, due: now.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "answer")) * time.Millisecond)})
				if !open[d.key] {
					waiting[len(waiting)-1].is = foundDone
				}
			}
			for len(waiting) > 0 && !waiting[0].due.After(now) {
				if err := book.answer(waiting[0].doubt, waiting[0].key, waiting[0].is, now); err != nil {
					t.Fatal(err)
				}
				waiting = waiting[1:]
				trail.take(now, book)
			}
			key := rapid.StringMatching(`[a-z]{6}`).Draw(t, "key")
			switch {
			case rapid.Bool().Draw(t, "completion of a claim that nobody saw"):
				completed = append(completed, now)
			case rapid.Bool().Draw(t, "ends its work") && len(open) > 0:
				for k := range open {
					key = k
					break
				}
				delete(open, key)
				completed = append(completed, now)
			default:
				open[key] = true
			}
			if err := book.event(key, key, "set", now); err != nil {
				t.Fatal(err)
			}
			trail.take(now, book)
			when := now.Add(-time.Duration(rapid.IntRange(0, 900).Draw(t, "ago")) * time.Millisecond)
			if c, ok := trail.at(when); ok {
				said[when] = c
			}
			for when, c := range said {
				var least, most int64
				for _, at := range completed {
					if !at.After(when) {
						least++
					}
					if !at.After(when.Add(trailStep)) {
						most++
					}
				}
				if again, ok := trail.at(when); c.Completions < least || c.Completions > most || !ok || again.Completions < least || again.Completions > most {
					t.Fatalf("%+v was said of %s, and %t %+v now, of %d to %d completions", c, when.Sub(began), ok, again, least, most)
				}
			}
		}
	})
}

func TestClaimsThatAreOpenForAWhileAreToldOf(t *testing.T) {
	t.Parallel()
	born := func(b *book) (seconds []float64) {
		for _, at := range b.openSince(bookDay.Add(time.Minute)) {
			seconds = append(seconds, at.Sub(bookDay).Seconds())
		}
		return seconds
	}
	b := newBook(twoSteps, bookDay.Add(-time.Hour), 0)
	for i, key := range []string{"older", "old", "done", "failed", "new"} {
		if err := b.event(key, key, "set", bookDay.Add(time.Duration(14*i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	_ = b.event("done", "done", "set", bookDay.Add(50*time.Second))
	_ = b.event("failed", "failed", "del", bookDay.Add(50*time.Second))
	if got := born(b); !slices.Equal(got, []float64{0, 14}) {
		t.Errorf("%v", got)
	}
	for i := range mostLingering {
		_ = b.event("more"+strconv.Itoa(i), "", "set", bookDay)
	}
	if b.openSince(bookDay.Add(time.Minute)) != nil {
		t.Error("too many are told of")
	}
	after := newBook(rules{way: wayBefore}, bookDay, 0)
	if _ = after.event("a", "a", "set", bookDay); after.openSince(bookDay.Add(time.Minute)) != nil {
		t.Error("a marker that tells no claim from a completion is told of as a claim")
	}
}

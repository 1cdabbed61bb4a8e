package events

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestAClaimThatIsProlongedIsNoCompletion: where claims are written again while the work goes on, each further write is looked at, and what it was
// is counted for the moment at which it came.
func TestAClaimThatIsProlongedIsNoCompletion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := bookDay.Add(time.Hour)
		b := newBook(twoSteps, bookDay, 0)
		b.prolongs.shown = true
		var claims, prolonged, completions, failures int64
		var worked time.Duration
		// The state of each key, as the server would tell it, and when its claim was made.
		born, done := map[string]time.Time{}, map[string]bool{}
		answerAll := func() {
			for _, d := range b.doubts(now, 100) {
				what := foundClaim
				if done[d.key] {
					what = foundDone
				}
				if err := b.answer(d, d.key, what, now); err != nil {
					t.Fatal(err)
				}
			}
		}
		event := func(key string, names ...string) {
			for _, name := range names {
				if err := b.event(key, key, name, now); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range rapid.IntRange(1, 80).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(1, 2000).Draw(t, "ms")) * time.Millisecond)
			if rapid.IntRange(0, 3).Draw(t, "asks") > 0 {
				answerAll()
			}
			key := fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "key"))
			switch act := rapid.SampledFrom([]string{"prolong", "prolong", "complete", "fail"}).Draw(t, "act"); {
			case done[key]:
			case born[key].IsZero():
				born[key] = now
				claims++
				event(key, "set", "expire")
			case act == "prolong":
				prolonged++
				event(key, "set", "expire")
				answerAll() // two at once are told from one by nobody
			case act == "complete":
				completions++
				worked += now.Sub(born[key])
				done[key] = true
				event(key, "set", "expire")
			default:
				failures++
				delete(born, key)
				event(key, "del")
			}
		}
		now = now.Add(time.Minute)
		answerAll()
		f := b.figures()
		if f.Claims != claims || f.Completions != completions || f.Failures != failures || f.Again != 0 || f.Prolonged != prolonged || f.InFlight != claims-completions-failures {
			t.Fatalf("%+v, want %d claims, prolonged %d times, %d completions, %d failures", f, claims, prolonged, completions, failures)
		}
		if off := f.Work.Sum() - worked; off.Abs() > time.Millisecond {
			t.Fatalf("work of %v, want %v", f.Work.Sum(), worked)
		}
		if since := b.undecided(); !since.IsZero() {
			t.Fatalf("still undecided since %v", since)
		}
	})
}

// TestTheTimeOfAClaimThatMayBeOlderIsNotTold: the first that is seen of a claim from before may be that it was prolonged.
func TestTheTimeOfAClaimThatMayBeOlderIsNotTold(t *testing.T) {
	t.Parallel()
	b, now := newBook(twoSteps, bookDay, 0), bookDay.Add(time.Second)
	b.prolongs.shown = true
	for range 2 {
		if err := b.event("a", "a", "set", now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(100 * time.Millisecond)
	}
	for _, d := range b.doubts(now, 100) {
		if err := b.answer(d, "a", foundDone, now); err != nil {
			t.Fatal(err)
		}
	}
	if f := b.figures(); f.Completions != 1 || f.Work.Count() != 0 {
		t.Errorf("%d completions, %d times of work; want 1 and 0", f.Completions, f.Work.Count())
	}
}

// TestAClaimWhoseExpiryIsSetAgainIsProlonged: not where the expiry belongs to its birth.
func TestAClaimWhoseExpiryIsSetAgainIsProlonged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []string
		after  time.Duration
		want   int64
	}{
		"EXPIRE after SETNX":                 {[]string{"set", "expire"}, time.Second, 0},
		"SET EX and EXPIRE at once":          {[]string{"set", "expire", "expire"}, time.Millisecond, 0},
		"EXPIRE while the work goes on":      {[]string{"set", "expire", "expire", "expire"}, time.Second, 2},
		"EXPIRE of what is done":             {[]string{"set", "expire", "set", "expire", "expire"}, time.Second, 0},
		"an expiry that was taken and given": {[]string{"set", "expire", "persist", "expire"}, time.Second, 0},
	} {
		b, now := newBook(twoSteps, bookDay, 0), bookDay.Add(time.Hour)
		for _, e := range c.events {
			if err := b.event("a", "a", e, now); err != nil {
				t.Fatal(err)
			}
			now = now.Add(c.after)
		}
		if got := b.figures().Prolonged; got != c.want {
			t.Errorf("%s: prolonged %d times, want %d", name, got, c.want)
		}
	}
}

// TestCompletionsAreLookedAtOftenAtFirstAndSeldomLater keeps the questions few.
func TestCompletionsAreLookedAtOftenAtFirstAndSeldomLater(t *testing.T) {
	t.Parallel()
	var p prolongs
	looks := map[time.Duration]int{}
	for at := time.Duration(0); at < time.Minute; at += sessionTick {
		p.wrote("a")
		if _, due := p.next(bookDay.Add(at)); due {
			looks[at.Truncate(30*time.Second)]++
		}
	}
	if early, late := looks[0], looks[30*time.Second]; early < looksAtFirst || early > looksAtFirst+30 || late < 29 || late > 31 {
		t.Errorf("%d looks in the first half minute and %d in the next", early, late)
	}
	p.shown = true
	p.look = ""
	p.wrote("a")
	if _, due := p.next(bookDay.Add(time.Hour)); due {
		t.Error("once it is shown each write is asked about anyway")
	}
}

package events

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestDuplicatesThatRenewTheirMarkerAreHeldByTheDoubt: a duplicate writes the done marker again, also of work that was done before anybody
// listened. What was counted once and what may be a duplicate must hold the truth, and no such set is a gap.
func TestDuplicatesThatRenewTheirMarkerAreHeldByTheDoubt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := bookDay
		b := newBook(twoSteps, now, 0)
		b.renewals.shown = rapid.Bool().Draw(t, "markers were renewed before")
		var firsts, renewed, early, unseen int64
		answer := func(what found) {
			now = now.Add(birthAfter)
			for _, d := range b.doubts(now, 100) {
				if err := b.answer(d, d.key, what, now); err != nil {
					t.Fatalf("after %v: %v", now.Sub(bookDay), err)
				}
			}
		}
		set := func(key string) {
			for _, event := range []string{"set", "expire"} {
				if err := b.event(key, key, event, now); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range rapid.IntRange(1, 40).Draw(t, "messages") {
			now = now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
			switch key := fmt.Sprint(i); rapid.SampledFrom([]string{"work", "duplicate of old work", "claim from before"}).Draw(t, "message") {
			case "work":
				set(key)
				answer(foundClaim)
				set(key)
				firsts++
				if rapid.Bool().Draw(t, "sent again") {
					set(key)
					renewed++
				}
			case "duplicate of old work":
				if now.Sub(bookDay) <= firstsWithin && !b.renewals.shown {
					early++
				}
				set(key)
				answer(foundDone)
				renewed++
			case "claim from before":
				if now.Before(b.horizon) {
					set(key)
					answer(foundDone)
					firsts++
					unseen++
				}
			}
		}
		f := b.figures()
		if f.Completions+f.Again != firsts+renewed {
			t.Fatalf("%d sets are known as done, want %d", f.Completions+f.Again, firsts+renewed)
		}
		if least := f.Completions - f.Unclear; f.Completions < firsts || least > firsts+early && !b.renewals.shown || b.renewals.shown && least > firsts {
			t.Fatalf("%d to %d were done, want %d", least, f.Completions, firsts)
		}
		if claims := firsts - unseen; f.Claims != claims {
			t.Fatalf("%d claims, want %d", f.Claims, claims)
		}
	})
}

// TestClaimsFromBeforeDoNotWidenAnything: in a scheme that renews nothing, what is completed soon after listening began is no doubt.
func TestClaimsFromBeforeDoNotWidenAnything(t *testing.T) {
	t.Parallel()
	b, now := newBook(twoSteps, bookDay, 0), bookDay
	for i := range 20 {
		now = now.Add(birthAfter / 4)
		_ = b.event(fmt.Sprint(i), "", "set", now)
		for _, d := range b.doubts(now, 100) {
			if err := b.answer(d, "", foundDone, now); err != nil {
				t.Fatal(err)
			}
		}
	}
	if f := b.figures(); f.Completions == 0 || f.Unclear != 0 || f.Again != 0 {
		t.Errorf("%d completions, %d unclear, %d again", f.Completions, f.Unclear, f.Again)
	}
}

// TestOnlyWorkThatWasClaimedTwiceProvesADoubleEffect: an alert wakes people, so that a marker that is written again proves nothing.
func TestOnlyWorkThatWasClaimedTwiceProvesADoubleEffect(t *testing.T) {
	t.Parallel()
	flag := rules{way: wayAfter}
	for name, c := range map[string]struct {
		rules        rules
		events       []string // of key a, or after a space of another
		twice, again int64
	}{
		"a claim expired, and both consumers completed":        {twoSteps, []string{"set", "expired", "set", "set", "set"}, 1, 1},
		"a claim was evicted, and both consumers completed":    {twoSteps, []string{"set", "evicted", "set", "set", "set"}, 1, 1},
		"it is told once of one message":                       {twoSteps, []string{"set", "expired", "set", "set", "set", "set"}, 1, 2},
		"a claim expired, and the next consumer completed":     {twoSteps, []string{"set", "expired", "set", "set"}, 0, 0},
		"a duplicate renews its marker":                        {twoSteps, []string{"set", "set", "set"}, 0, 1},
		"work failed, was done, and a duplicate renews it":     {twoSteps, []string{"set", "del", "set", "set", "set"}, 0, 1},
		"a claim expired, and other duplicates renew markers":  {twoSteps, []string{"set b", "set b", "set b", "set", "expired", "set", "set", "set"}, 0, 2},
		"a claim expired, the next failed, and both completed": {twoSteps, []string{"set", "expired", "set", "del", "set", "set", "set"}, 1, 1},
		"a flag is written again":                              {flag, []string{"set", "set", "set"}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(c.rules, bookDay, 0)
			for i, e := range c.events {
				event, key, _ := strings.Cut(e, " ")
				if err := b.event("a"+key, "a"+key, event, bookDay.Add(time.Hour+time.Duration(i)*time.Second)); err != nil {
					t.Fatal(err)
				}
			}
			if f := b.figures(); f.Twice != c.twice || f.Again != c.again {
				t.Errorf("%d twice, %d again, want %d and %d", f.Twice, f.Again, c.twice, c.again)
			}
		})
	}
}

// TestWorkThatIsDoneAgainAfterItsMarkerEndedIsCounted: the marker is what would have stopped it.
func TestWorkThatIsDoneAgainAfterItsMarkerEndedIsCounted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		way    way
		events []string
		ours   bool // the dashboard deletes, too
		want   int64
	}{
		"a done marker expired":                 {wayTwoSteps, []string{"set", "set", "expired", "set", "set"}, false, 1},
		"a done marker was deleted":             {wayTwoSteps, []string{"set", "set", "del", "set", "set"}, false, 1},
		"twice":                                 {wayTwoSteps, []string{"set", "set", "del", "set", "set", "expired", "set", "set"}, false, 2},
		"a done marker was cleared by us":       {wayTwoSteps, []string{"set", "set", "del", "set", "set"}, true, 0},
		"it is claimed again and not completed": {wayTwoSteps, []string{"set", "set", "expired", "set"}, false, 0},
		"a claim expired":                       {wayTwoSteps, []string{"set", "expired", "set", "set"}, false, 0},
		"a failure is tried again":              {wayTwoSteps, []string{"set", "del", "set", "set"}, false, 0},
		"a duplicate renews its marker":         {wayTwoSteps, []string{"set", "set", "set"}, false, 0},
		"a flag expired":                        {wayAfter, []string{"set", "expired", "set"}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			rules := twoSteps
			rules.way = c.way
			b := newBook(rules, bookDay, 0)
			for i, event := range c.events {
				at := bookDay.Add(time.Hour + time.Duration(i)*time.Second)
				err := error(nil)
				if c.ours && event == "del" {
					err = b.ours(&OwnAct{Key: "a", Event: "del"}, at)
				} else {
					err = b.event("a", "a", event, at)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if n := b.figures().Anew; n != c.want {
				t.Errorf("%d done anew, want %d", n, c.want)
			}
		})
	}
}

// TestWorkThatBeganBeforeTheBookAndTookLongIsNoProofOfRenewal: else double effects would not be seen until the next start.
func TestWorkThatBeganBeforeTheBookAndTookLongIsNoProofOfRenewal(t *testing.T) {
	t.Parallel()
	b := newBook(twoSteps, bookDay, 0)
	late := bookDay.Add(firstsWithin + 5*time.Second)
	if err := b.event("old", "old", "set", late); err != nil {
		t.Fatal(err)
	}
	for _, d := range b.doubts(late.Add(birthAfter), 100) {
		if err := b.answer(d, d.key, foundDone, late.Add(birthAfter)); err != nil {
			t.Fatal(err)
		}
	}
	if b.renewals.shown || b.counts.Completions != 1 || b.counts.Unclear != 1 {
		t.Errorf("renewals shown: %t; %+v", b.renewals.shown, b.counts)
	}
}

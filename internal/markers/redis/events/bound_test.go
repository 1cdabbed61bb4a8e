package events

import (
	"testing"
	"time"
)

// TestAKeyThatIsWrittenOverAndOverIsDoubtedOnce persists and expires one claim again and again, and asks about it.
func TestAKeyThatIsWrittenOverAndOverIsDoubtedOnce(t *testing.T) {
	b, now := newBook(twoSteps, bookDay, 0), bookDay.Add(twoSteps.processing*2)
	if err := b.event("a", "a", "set", now); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		for range 1000 {
			for _, event := range []string{"persist", "expire"} {
				if err := b.event("a", "a", event, now); err != nil {
					t.Fatal(err)
				}
			}
		}
		waiting := 0
		for _, q := range b.queues {
			waiting += len(q.list) - q.head
		}
		if waiting < 1 || waiting > int(stages) {
			t.Fatalf("%d doubts wait for 1 claim", waiting)
		}
		now = now.Add(openAfter)
		for _, d := range b.doubts(now, 10_000) {
			if err := b.answer(d, "a", foundClaim, now); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestEndlessClaimsAreListedAnewOnlyWhenTheyChange: there may be 100,000 of them, and a reading each second.
func TestEndlessClaimsAreListedAnewOnlyWhenTheyChange(t *testing.T) {
	now := bookDay.Add(time.Hour)
	s := sessionOf(t, now)
	s.flagsKnown, s.flags = true, "K$gxe"
	sync := func(want int) {
		t.Helper()
		now = now.Add(time.Second)
		if err := s.sync(wireValue{kind: '$', text: "run_id:x\r\nrole:master\r\n"}, now); err != nil {
			t.Fatal(err)
		}
		if got := len(s.l.Figures().NoExpiry); got != want {
			t.Errorf("%d are listed, want %d", got, want)
		}
	}
	s.book.endless["msg:b"], s.book.changed = now, true
	sync(1)
	first := &s.l.Figures().NoExpiry[0]
	sync(1)
	if again := &s.l.Figures().NoExpiry[0]; again != first {
		t.Error("nothing changed, and a new list was made")
	}
	delete(s.book.endless, "msg:b")
	s.book.changed = true
	sync(0)
	s.book.endless["msg:b"], s.book.changed = now, true
	sync(1)
	s.anew("a gap", now)
	sync(0)
}

package markers

import "testing"

// TestAKeyThatIsWrittenOverAndOverIsDoubtedOnce persists and expires one claim again and again, and asks about it.
func TestAKeyThatIsWrittenOverAndOverIsDoubtedOnce(t *testing.T) {
	b, now := newEventBook(twoSteps, bookDay, 0), bookDay.Add(twoSteps.processing*2)
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

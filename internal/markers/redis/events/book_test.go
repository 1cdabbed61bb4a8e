package events

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

var (
	twoSteps = rules{way: wayTwoSteps, processing: 5 * time.Minute, deletes: true, expiring: true, giveUp: 5}
	bookDay  = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
)

// bookCounts are the counts of a book that a truth is compared with.
type bookCounts struct {
	Claims, Completions, Failures, Retried, Expired, Evicted, Again, InFlight, Timed int64
}

func countsOfBook(b *book) bookCounts {
	f := b.figures()
	return bookCounts{f.Claims, f.Completions, f.Failures, f.Retried, f.Expired, f.Evicted, f.Again, f.InFlight, f.Work.Count()}
}

// step is an event of a key, or with an answer what the server says of the claim that is open.
type step struct {
	after  time.Duration
	key    string
	event  string
	answer *found
}

func says(f found) *found { return &f }

func TestABookTellsClaimsFromCompletions(t *testing.T) {
	steps := func(all ...step) []step { return all }
	old := 6 * time.Minute // no claim from before can be open
	for name, c := range map[string]struct {
		rules rules
		steps []step
		want  bookCounts
		err   error
	}{
		"a claim is open until its second set": {twoSteps, steps(step{after: old, key: "a", event: "set"}), bookCounts{Claims: 1, InFlight: 1}, nil},
		"a second set is the completion":       {twoSteps, steps(step{old, "a", "set", nil}, step{1, "a", "expire", nil}, step{1, "a", "set", nil}, step{1, "a", "expire", nil}), bookCounts{Claims: 1, Completions: 1, Timed: 1}, nil},
		"a third set is work done again":       {twoSteps, steps(step{old, "a", "set", nil}, step{1, "a", "set", nil}, step{1, "a", "set", nil}), bookCounts{Claims: 1, Completions: 1, Again: 1, Timed: 1}, nil},
		"a deleted claim is a failure":         {twoSteps, steps(step{old, "a", "set", nil}, step{1, "a", "del", nil}), bookCounts{Claims: 1, Failures: 1}, nil},
		"a claim of what failed is a retry, once it is known to be a claim": {twoSteps,
			steps(step{old, "a", "set", nil}, step{1, "a", "del", nil}, step{1, "a", "set", nil}, step{1, "a", "", says(foundClaim)}, step{1, "b", "set", nil}, step{1, "b", "del", nil}, step{1, "b", "set", nil}),
			bookCounts{Claims: 3, Failures: 2, Retried: 1, InFlight: 2}, nil},
		"a claim of what expired is none": {twoSteps,
			steps(step{old, "a", "set", nil}, step{1, "a", "expired", nil}, step{1, "a", "set", nil}, step{1, "a", "", says(foundClaim)}), bookCounts{Claims: 2, Expired: 1, InFlight: 1}, nil},
		"a deleted completion is none":     {twoSteps, steps(step{old, "a", "set", nil}, step{1, "a", "set", nil}, step{1, "a", "del", nil}), bookCounts{Claims: 1, Completions: 1, Timed: 1}, nil},
		"an expired claim was abandoned":   {twoSteps, steps(step{old, "a", "set", nil}, step{1, "a", "expired", nil}), bookCounts{Claims: 1, Expired: 1}, nil},
		"an expired completion is its end": {twoSteps, steps(step{old, "a", "set", nil}, step{1, "a", "set", nil}, step{1, "a", "expired", nil}), bookCounts{Claims: 1, Completions: 1, Timed: 1}, nil},
		"an evicted claim is no failure":   {twoSteps, steps(step{old, "a", "set", nil}, step{1, "a", "evicted", nil}), bookCounts{Claims: 1, Evicted: 1}, nil},
		"a completion behind an expired claim is perhaps work done twice": {twoSteps,
			steps(step{old, "a", "set", nil}, step{1, "a", "expired", nil}, step{1, "a", "set", nil}, step{1, "a", "", says(foundDone)}),
			bookCounts{Claims: 1, Completions: 1, Expired: 1, Again: 1}, nil},
		"a new claim behind an expired one is a claim": {twoSteps,
			steps(step{old, "a", "set", nil}, step{1, "a", "expired", nil}, step{1, "a", "set", nil}, step{1, "a", "", says(foundClaim)}, step{1, "a", "set", nil}),
			bookCounts{Claims: 2, Completions: 1, Expired: 1, Timed: 1}, nil},
		"a set soon after listening began is not counted before it is settled": {twoSteps, steps(step{1, "a", "set", nil}), bookCounts{InFlight: 1}, nil},
		"a claim from before is completed":                                     {twoSteps, steps(step{1, "a", "set", nil}, step{1, "a", "", says(foundDone)}), bookCounts{Completions: 1}, nil},
		"a claim from before fails":                                            {twoSteps, steps(step{1, "a", "del", nil}), bookCounts{Failures: 1}, nil},
		"a marker that went away without a word is a gap":                      {twoSteps, steps(step{old, "a", "set", nil}, step{2 * time.Second, "a", "", says(foundGone)}), bookCounts{}, errMissed},
		"a completion without a notification is a gap": {twoSteps,
			steps(step{old, "a", "set", nil}, step{2 * time.Second, "a", "", says(foundClaim)}, step{time.Minute, "a", "", says(foundDone)}), bookCounts{}, errMissed},
		"a marker of work from before that is done at once was written again, and is no gap": {twoSteps,
			steps(step{old, "a", "set", nil}, step{1, "a", "expire", nil}, step{2 * time.Second, "a", "", says(foundDone)}), bookCounts{Again: 1}, nil},
		"a flag is a completion, and the second one again": {rules{way: wayAfter}, steps(step{1, "a", "set", nil}, step{1, "a", "set", nil}), bookCounts{Completions: 1, Again: 1}, nil},
		"a flag that ended may be set anew":                {rules{way: wayAfter}, steps(step{1, "a", "set", nil}, step{1, "a", "expired", nil}, step{1, "a", "set", nil}), bookCounts{Completions: 2}, nil},
		"a mark before the work is a claim and no more": {rules{way: wayBefore, deletes: true, expiring: true},
			steps(step{1, "a", "set", nil}, step{1, "a", "expire", nil}, step{1, "b", "set", nil}, step{1, "b", "del", nil}, step{1, "c", "set", nil}, step{1, "a", "expired", nil}),
			bookCounts{Claims: 3, Failures: 1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b, now := newBook(c.rules, bookDay, 0), bookDay
			var err error
			for _, s := range c.steps {
				now = now.Add(s.after)
				if s.answer == nil {
					err = errors.Join(err, b.event(s.key, s.key, s.event, now))
				} else if open := b.open[s.key]; open != nil {
					err = errors.Join(err, b.answer(doubt{key: s.key, number: open.number}, s.key, *s.answer, now))
				}
			}
			if !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if d := cmp.Diff(c.want, countsOfBook(b)); c.err == nil && d != "" {
				t.Errorf("counts (-want +got):\n%s", d)
			}
		})
	}
}

func TestABookThatIsFullSaysSo(t *testing.T) {
	b := newBook(twoSteps, bookDay, 0)
	for i := range mostOpen {
		if err := b.event(fmt.Sprint(i), "", "set", bookDay); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := b.event("one more", "", "set", bookDay); !errors.Is(err, errOverflow) {
		t.Error(err)
	}
	b = newBook(twoSteps, bookDay, 0)
	for i := range 2 {
		err := b.event(string(make([]byte, mostOpenBytes/2+i)), "", "set", bookDay)
		if (i == 1) != errors.Is(err, errOverflow) {
			t.Error(i, err)
		}
	}
	r := newRetryCounts(5)
	for i := range mostRetries {
		if err := r.event(fmt.Sprint(i), fmt.Sprint(i), "set"); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.event("one more", "one more", "set"); !errors.Is(err, errOverflow) {
		t.Error(err)
	}
}

func TestAnEndlessClaimIsListedUntilItEndsOrExpires(t *testing.T) {
	for name, end := range map[string]string{"it expires": "expire", "it is completed": "set", "it is deleted": "del"} {
		t.Run(name, func(t *testing.T) {
			b, born := newBook(twoSteps, bookDay, 0), bookDay.Add(time.Hour)
			must := func(err error) {
				if err != nil {
					t.Fatal(err)
				}
			}
			must(b.event("a", "a", "set", born))
			if due := b.doubts(born.Add(birthAfter-1), 10); len(due) > 0 {
				t.Fatalf("asked too soon: %v", due)
			}
			due := b.doubts(born.Add(birthAfter), 10)
			if len(due) != 1 {
				t.Fatalf("%d questions", len(due))
			}
			must(b.answer(due[0], "a", foundEndless, born.Add(birthAfter)))
			if !b.endless["a"].Equal(born) || !b.changed {
				t.Errorf("endless: %v, %v", b.endless, b.changed)
			}
			must(b.event("a", "a", end, born.Add(time.Minute)))
			if len(b.endless) != 0 {
				t.Error("it is still listed")
			}
			if end != "expire" {
				// An answer about a claim that has ended comes too late, and means nothing.
				must(b.answer(due[0], "a", foundGone, born.Add(time.Minute)))
			}
		})
	}
}

// model is a store of the scheme of two steps: each command changes it, tells the book and counts what is true.
type model struct {
	t     *rapid.T
	now   time.Time
	state map[string]dedup.State
	truth bookCounts
	// seen are the claims that were born while the book listened.
	seen map[string]bool
	// lost are keys whose claim ended although its consumer may still complete it.
	lost map[string]bool
	// failed are keys whose last claim a failure gave back, doubtful those of which a claim ended in another way since their work was done: what
	// becomes of these is not told.
	failed, doubtful map[string]bool
	book             *book
	due              []doubt
}

func (m *model) tell(key, event string) {
	if m.book == nil {
		return
	}
	if err := m.book.event(key, key, event, m.now); err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) do(command, key string) {
	counts := bookCounts{}
	switch state := m.state[key]; {
	case command == "claim" && state == "":
		if m.state[key], counts.Claims = dedup.Processing, 1; m.failed[key] && !m.doubtful[key] {
			counts.Retried = 1
		}
		m.failed[key] = false
		m.tell(key, "set")
		m.tell(key, "expire")
		m.seen[key] = m.book != nil
	case command == "complete" && state == dedup.Processing:
		m.state[key], counts.Completions = dedup.Done, 1
		if m.seen[key] {
			counts.Timed = 1
		}
		m.tell(key, "set")
		m.tell(key, "expire")
		m.forget(key)
	case command == "complete late" && m.lost[key] && state == "":
		m.state[key], counts.Completions, counts.Again = dedup.Done, 1, 1
		m.tell(key, "set")
		m.settle()
		m.forget(key)
	case command == "complete late" && m.lost[key] && state == dedup.Done:
		counts.Again = 1
		m.tell(key, "set")
		delete(m.lost, key)
	case command == "fail" && state == dedup.Processing:
		delete(m.state, key)
		m.failed[key], counts.Failures = m.book != nil, 1
		m.tell(key, "del")
	case command == "expire" && state == dedup.Processing && m.seen[key]:
		delete(m.state, key)
		m.lost[key], m.doubtful[key], counts.Expired = true, true, 1
		m.tell(key, "expired")
	case command == "expire" && state == dedup.Done:
		m.settle() // it lives for hours
		delete(m.state, key)
		delete(m.lost, key)
		m.tell(key, "expired")
	case command == "evict" && state != "" && (state == dedup.Done || m.seen[key]):
		m.settle()
		m.lost[key] = state == dedup.Processing
		m.doubtful[key] = m.doubtful[key] || m.lost[key]
		delete(m.state, key)
		counts.Evicted = 1
		m.tell(key, "evicted")
	}
	if m.book != nil {
		m.truth.Claims += counts.Claims
		m.truth.Completions += counts.Completions
		m.truth.Failures += counts.Failures
		m.truth.Retried += counts.Retried
		m.truth.Expired += counts.Expired
		m.truth.Evicted += counts.Evicted
		m.truth.Again += counts.Again
		m.truth.Timed += counts.Timed
	}
}

// forget is that the work of a key is done.
func (m *model) forget(key string) {
	for _, of := range []map[string]bool{m.lost, m.failed, m.doubtful} {
		delete(of, key)
	}
}

// ask lets the book ask; the answers come at another time, in the order of the questions.
func (m *model) ask() { m.due = append(m.due, m.book.doubts(m.now, 100)...) }

func (m *model) answer(n int) {
	for range min(n, len(m.due)) {
		d := m.due[0]
		m.due = m.due[1:]
		what := map[dedup.State]found{"": foundGone, dedup.Processing: foundClaim, dedup.Done: foundDone}[m.state[d.key]]
		if err := m.book.answer(d, d.key, what, m.now); err != nil {
			m.t.Fatalf("%s, which is %q: %v", d.key, m.state[d.key], err)
		}
	}
}

// settle lets time pass until the book has asked for all that it doubts.
func (m *model) settle() {
	if m.book == nil {
		return
	}
	for range 3 {
		m.now = m.now.Add(birthAfter)
		m.ask()
		m.answer(len(m.due))
	}
}

func (m *model) open() int64 {
	n := int64(0)
	for key, state := range m.state {
		if state == dedup.Processing && m.seen[key] {
			n++
		}
	}
	return n
}

// TestABookIsExactWhateverTheOrder begins to listen at a random moment and compares all counts once all doubts are settled.
func TestABookIsExactWhateverTheOrder(t *testing.T) {
	commands := []string{"claim", "claim", "complete", "complete", "fail", "expire", "evict", "complete late", "pause", "ask", "answer", "settle", "listen"}
	rapid.Check(t, func(t *rapid.T) {
		m := &model{t: t, now: bookDay, state: map[string]dedup.State{}, seen: map[string]bool{}, lost: map[string]bool{}, failed: map[string]bool{}, doubtful: map[string]bool{}}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch command := rapid.SampledFrom(commands).Draw(t, "command"); {
			case command == "pause":
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 10_000).Draw(t, "ms")) * time.Millisecond)
			case command == "listen" && m.book == nil:
				m.book = newBook(twoSteps, m.now, 0)
				clear(m.lost) // what ended before is not known
				clear(m.doubtful)
			case command == "ask" && m.book != nil:
				m.ask()
			case command == "answer" && m.book != nil:
				m.answer(rapid.IntRange(0, 3).Draw(t, "answers"))
			case command == "settle":
				m.settle()
			default:
				m.do(command, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"))
			}
		}
		if m.book == nil {
			return
		}
		m.settle()
		m.truth.InFlight = m.open()
		if d := cmp.Diff(m.truth, countsOfBook(m.book)); d != "" {
			t.Fatalf("counts (-truth +book):\n%s", d)
		}
		if n, size := len(m.book.open), m.book.openBytes; n != size { // each key has one byte
			t.Fatalf("%d claims of %d bytes are open", n, size)
		}
	})
}

// TestGivenUpMessagesAreCountedOnce lets counters rise and be deleted in any order, and reads them at any time. A message whose copies
// are given up too is lost once, and not at all where its work was done since.
func TestGivenUpMessagesAreCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, value, truth := newRetryCounts(3), map[string]int64{}, int64(0)
		lost, anyDone := map[string]bool{}, false
		read := func() {
			for _, key := range r.ask(10) {
				v, ok := value[key]
				r.read(key, v, ok)
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
			switch rapid.SampledFrom([]string{"fail", "fail", "fail", "delete", "read", "done"}).Draw(t, "step") {
			case "fail":
				if value[key]++; value[key] >= 3 {
					truth++
					lost[key] = true
				}
				_ = r.event(key, key, "set")
			case "delete":
				delete(value, key)
				_ = r.event(key, key, "del")
			case "read":
				read()
			case "done":
				read()
				r.completed(key)
				delete(lost, key)
				anyDone = true
			}
		}
		read()
		if r.gaveUp != truth {
			t.Fatalf("%d given up, want %d", r.gaveUp, truth)
		}
		if n := int64(len(lost)); r.lost > n || !anyDone && r.lost < n {
			t.Fatalf("%d lost, want %d", r.lost, n)
		}
	})
}

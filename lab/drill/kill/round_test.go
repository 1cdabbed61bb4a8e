package kill

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/lab/servers"
)

// maxCopies is the most copies that one kill may make: the window of a requeue.
const maxCopies = 256

// A victim is a process that requeues the dead letters, in one job however often it is killed and started.
type victim interface {
	// begin starts the process and the job, start the process alone: it has to go on with the job by itself.
	begin()
	start()
	// kill ends the process by SIGKILL.
	kill()
	// finished reports whether the job is at its end.
	finished() bool
	// explain says how the victim stands, for a test that has failed.
	explain() string
}

// kill ends a process by SIGKILL unless it has ended: its number may belong to another by then.
func kill(p *servers.Process) {
	if p != nil && !ended(p) {
		p.Kill()
	}
}

func ended(p *servers.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// A killing is one kill of a round.
type killing struct {
	// after is the time since the job began, moved how many messages had left the dead-letter queue, copies how many it made.
	after  time.Duration
	moved  int
	copies int
}

// A round is one lot, requeued by a victim that is killed again and again.
type round struct {
	site     *site
	victim   victim
	lot      lot
	began    time.Time
	copies   int // made so far
	killings []killing
	took     time.Duration
}

// newRound seeds a lot and begins its requeue.
func newRound(s *site, v victim, name string, size int) *round {
	s.t.Helper()
	r := &round{site: s, victim: v, lot: s.seed(name, size)}
	v.begin()
	r.began = time.Now()
	return r
}

// killAt kills the victim at each of these parts of the way, and starts it again.
func (r *round) killAt(parts []float64) {
	r.site.t.Helper()
	for _, part := range parts {
		r.killOnceAt(part)
		r.victim.start()
	}
}

// maxDelay is how long a kill is put off at most, at random. Messages arrive in bursts: without it every kill would come right after one,
// at the same point of the victim's work.
const maxDelay = 50 * time.Millisecond

// killOnceAt kills the victim when a part of the messages has arrived, and enters what came of it.
func (r *round) killOnceAt(part float64) {
	s := r.site
	s.t.Helper()
	r.awaitPart(part)
	<-time.After(rand.N(maxDelay))
	r.victim.kill()
	k := killing{after: time.Since(r.began)}
	dead, arrived := s.settled()
	k.moved = r.lot.size - dead
	k.copies = arrived - k.moved - r.copies
	r.copies += k.copies
	r.killings = append(r.killings, k)
}

// awaitPart waits until a part of the messages has arrived.
func (r *round) awaitPart(part float64) {
	r.site.t.Helper()
	want := int(part*float64(r.lot.size)) + r.copies
	r.await(2*time.Millisecond, fmt.Sprintf("%d of %d messages at their targets", want, r.lot.size), func(arrived int) bool { return arrived >= want })
}

// patience is how long a victim may move nothing before the test gives it up.
const patience = 2 * time.Minute

// await waits for a condition as long as messages arrive.
func (r *round) await(pause time.Duration, what string, holds func(arrived int) bool) {
	t := r.site.t
	t.Helper()
	most, since := -1, time.Now()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		arrived := r.site.arrived()
		if holds(arrived) {
			return
		}
		if arrived > most {
			most, since = arrived, time.Now()
		}
		if time.Since(since) > patience {
			t.Fatalf("waited for %s: nothing has moved for %v, %d have arrived and %d are dead letters\n%s\n%s",
				what, patience, arrived, r.site.depth(deadQueue), r.printed(), r.victim.explain())
		}
		<-tick.C
	}
}

// close waits for the end of the job and returns the balance of the lot.
func (r *round) close() balance {
	r.site.t.Helper()
	r.await(50*time.Millisecond, "the end of the job", func(int) bool { return r.victim.finished() })
	r.took = time.Since(r.began)
	r.site.settled()
	return r.site.audit(r.lot)
}

// check prints the ledger of a round and fails the test for everything that no kill may do.
func (r *round) check(b balance) {
	t := r.site.t
	t.Helper()
	t.Logf("%s\n%s", r.printed(), b)
	if faults := b.faults(); faults != "" {
		t.Error(faults)
	}
	if b.left != 0 {
		t.Errorf("%d messages are still in the dead-letter queue", b.left)
	}
	for i, k := range r.killings {
		if k.copies < 0 || k.copies > maxCopies {
			t.Errorf("kill %d made %d extra copies, want 0 to %d", i+1, k.copies, maxCopies)
		}
	}
	if b.extra != r.copies {
		t.Errorf("the queues hold %d extra copies, and %d were made by kills", b.extra, r.copies)
	}
}

func (r *round) printed() string {
	var lines strings.Builder
	fmt.Fprintf(&lines, "lot %s: %d messages, %d kills, %v", r.lot.name, r.lot.size, len(r.killings), r.took.Round(time.Millisecond))
	for i, k := range r.killings {
		fmt.Fprintf(&lines, "\n  kill %2d at %9v: moved %6d of %d (%4.1f %%), extra copies %3d",
			i+1, k.after.Round(time.Millisecond), k.moved, r.lot.size, 100*float64(k.moved)/float64(r.lot.size), k.copies)
	}
	return lines.String()
}

// A tally sums rounds up.
type tally struct {
	seeded, lost, extra, finished int
	copies                        []int
}

func (t *tally) add(r *round, b balance) {
	t.seeded += b.seeded
	t.lost += len(b.lost)
	t.extra += b.extra
	if b.left == 0 {
		t.finished++
	}
	for _, k := range r.killings {
		t.copies = append(t.copies, k.copies)
	}
}

func (t *tally) String() string {
	if len(t.copies) == 0 {
		return "no kills"
	}
	copies := slices.Sorted(slices.Values(t.copies))
	return fmt.Sprintf("in sum: %d kills over %d messages, lost %d, extra copies %d (median %d, most %d per kill, bound %d), lots that were moved whole %d",
		len(copies), t.seeded, t.lost, t.extra, copies[len(copies)/2], copies[len(copies)-1], maxCopies, t.finished)
}

// randomParts draws the moments of kills, uniformly from the middle of the way, in order.
func randomParts(n int) []float64 {
	parts := make([]float64, n)
	for i := range parts {
		parts[i] = 0.1 + 0.8*rand.Float64()
	}
	slices.Sort(parts)
	return parts
}

package kill

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestKills ends processes by SIGKILL while dead letters are requeued. The order matters: each part builds on what those before it
// have shown, and the broker is killed last.
func TestKills(t *testing.T) {
	s := newSite(t)
	_ = t.Run("neighbours in the dead-letter queue have different targets", s.takesTurns) &&
		t.Run("a requeue that acks too early loses messages, and the ledger tells", s.tellsLoss) &&
		t.Run("the engine loses none at random moments", s.killsEngine) &&
		t.Run("the engine loses none at any step", s.killsAtEveryStep) &&
		t.Run("dashboard", s.killsDashboard)
}

func (s *site) killsDashboard(t *testing.T) {
	d := newDashboard(s.in(t))
	_ = t.Run("it goes on by itself after every kill", d.goesOn) &&
		t.Run("without its journal nothing goes on by itself, and nothing is lost", d.losesItsJournal) &&
		t.Run("it goes on by itself when the broker was killed", d.losesItsBroker)
}

// smallLot is the size of a lot that is requeued to see what happens, and not how often.
const smallLot = 4000

// slowRate is the rate where one kill must land before the job ends: of a small lot it leaves most of a second behind the last moment.
const slowRate = smallLot / 8

// goesOn kills the dashboard at random moments. It must go on with its job whenever it is started again.
func (d *dashboard) goesOn(t *testing.T) {
	d = d.in(d.site.in(t))
	var sum tally
	for n := range *rounds {
		r := newRound(d.site, d, fmt.Sprintf("kill%d", n), *messages)
		// The kills that do not divide evenly fall to the first rounds.
		r.killAt(randomParts((*kills + *rounds - 1 - n) / *rounds))
		b := r.close()
		r.check(b)
		sum.add(r, b)
		j, _ := d.told()
		t.Logf("the job tells of %d moved messages, and that it went on %d times", j.Counts.Moved, j.Resumed)
		if j.Resumed < 1 || j.Resumed > len(r.killings) { // a kill may come before the job went on after the one before
			t.Errorf("after %d kills the job tells that it went on %d times", len(r.killings), j.Resumed)
		}
		if t.Failed() {
			d.fail("round %d failed", n)
		}
	}
	t.Log(sum.String())
}

// losesItsJournal deletes the journal after a kill, and all that the dashboard has ever written but its key after another: it knows of no
// job then, and must not move anything until it is told to. By the key both copies of a message have one requeue id.
func (d *dashboard) losesItsJournal(t *testing.T) {
	d = d.in(d.site.in(t))
	d.rate = slowRate
	r := newRound(d.site, d, "journal", smallLot)
	parts := randomParts(2)
	for i, forget := range []func(){d.deleteJournal, d.deleteAllButKey} {
		r.killOnceAt(parts[i])
		forget()
		dead, arrived := d.site.settled()
		d.start()
		d.awaitReady()
		if jobs := d.jobs(); len(jobs) != 0 {
			t.Fatalf("without its journal the dashboard knows of jobs %v", jobs)
		}
		d.staysPut(dead, arrived)
		d.begin()
	}
	r.check(r.close())
}

// deleteJournal deletes the database of jobs with what SQLite keeps beside it.
func (d *dashboard) deleteJournal() {
	t := d.site.t
	t.Helper()
	must(t, os.Remove(filepath.Join(d.data, "journal.db")))
	for _, beside := range []string{"-wal", "-shm"} {
		if err := os.Remove(filepath.Join(d.data, "journal.db"+beside)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// deleteAllButKey deletes all that the dashboard has written, and leaves the key of the installation.
func (d *dashboard) deleteAllButKey() {
	t := d.site.t
	t.Helper()
	entries, err := os.ReadDir(d.data)
	must(t, err)
	for _, e := range entries {
		if e.Name() != "installation.key" {
			must(t, os.RemoveAll(filepath.Join(d.data, e.Name())))
		}
	}
}

// staysPut watches for some rounds of the collector that no message moves.
func (d *dashboard) staysPut(dead, arrived int) {
	t := d.site.t
	t.Helper()
	until := time.Now().Add(5 * time.Second)
	d.site.await(time.Minute, "the end of the watch", func() bool {
		if n, m := d.site.depth(deadQueue), d.site.arrived(); n != dead || m != arrived {
			t.Fatalf("nobody asked for it, and the dead-letter queue holds %d instead of %d, the targets %d instead of %d", n, dead, m, arrived)
		}
		return time.Now().After(until)
	})
}

// losesItsBroker kills the broker and starts it again. The dashboard must go on with its job by itself.
func (d *dashboard) losesItsBroker(t *testing.T) {
	d = d.in(d.site.in(t))
	d.rate = slowRate
	s := d.site
	r := newRound(s, d, "broker", smallLot)
	r.awaitPart(randomParts(1)[0])
	s.broker.Kill()
	killed := time.Now()
	must(t, s.broker.Restart(t.Context()))
	up := time.Now()
	s.connect()
	b := r.close()
	j, _ := d.told()
	t.Logf("lot %s: broker killed %v after the job began, up again after %v, job done %v later, connections resumed %d\n%s", r.lot.name,
		killed.Sub(r.began).Round(time.Millisecond), up.Sub(killed).Round(time.Millisecond), time.Since(up).Round(time.Millisecond), j.Resumed, b)
	if faults := b.faults(); faults != "" || b.left != 0 {
		t.Errorf("%d messages are still in the dead-letter queue\n%s", b.left, faults)
	}
	if j.Resumed == 0 {
		t.Error("the job does not tell that it lost its connection")
	}
}

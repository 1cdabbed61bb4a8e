package jobs

import (
	"hash/maphash"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/admin/requeue"
)

// sentIDs remembers, by 8 bytes each, the ids of the messages that a job has sent to be worked on: a second message with such an id finds
// another marker than was foretold. If two ids should have one hash, a message is left where it is. Of what an earlier run of the program
// has sent, those are known that the journal tells of: the first MaxJobItems. What was sent before a connection was lost, or a program
// died, is forgotten: such a message may come again itself, and must not be left for being its own copy.
type sentIDs struct {
	seed maphash.Seed
	ids  map[uint64]struct{}
}

func newSentIDs() *sentIDs {
	return &sentIDs{seed: maphash.MakeSeed(), ids: map[uint64]struct{}{}}
}

func (s *sentIDs) add(id string)      { s.ids[maphash.String(s.seed, id)] = struct{}{} }
func (s *sentIDs) has(id string) bool { _, sent := s.ids[maphash.String(s.seed, id)]; return sent }

// onceEach reports whether of several messages with one id a job sends one alone: those whose class is not known are left, and that of
// the second depends on what becomes of the first.
func (j *liveJob) onceEach() bool {
	st := j.line.Store
	return j.plan.Request.Do == admin.Requeue && j.plan.Choices[preflight.ClassUnknown] != preflight.KeepAsIs && st != nil && !st.Scheme.Lock
}

// does reports whether the work of a message of a class is done when the job sends it, so that its marker changes.
func (j *liveJob) does(class preflight.Class) bool { return j.plan.Does(class) }

// went notes that a message was sent whose work is to be done. The lock is held, or nobody else has the job yet.
func (j *liveJob) went(id string) {
	if id == "" || !j.onceEach() {
		return
	}
	if j.ids == nil {
		j.ids = newSentIDs()
	}
	j.ids.add(j.line.Store.Fold(id))
}

// sentAlso is went for a message that is settled. It comes before the decider gives its lock away: a copy that is decided on next is
// either under way or known to be sent.
func (j *liveJob) sentAlso(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.went(id)
}

// forgetSent forgets which messages were sent, because their acks may be lost.
func (j *liveJob) forgetSent() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ids, j.job.Doubtful = nil, j.job.Items
}

// recall notes what earlier runs of the program have sent; nobody else has the job yet.
func (j *liveJob) recall(sent []JobItem) {
	if j.job.State != JobPaused && !j.job.Rested { // the program died
		j.job.Doubtful = j.job.Items
		for _, it := range sent[max(0, len(sent)-requeue.MaxWindow):] {
			j.doubtful = append(j.doubtful, it.Ref)
		}
	}
	j.job.Rested = false
	j.sent = sent
	for _, it := range sent {
		if len(j.plan.Request.Refs) > 0 {
			j.moved[it.Ref]++
		}
		if it.Seq > j.job.Doubtful && j.does(it.Class) {
			j.went(it.ID)
		}
	}
}

// hasSent reports whether the job has sent another message with an id.
func (j *liveJob) hasSent(id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ids != nil && j.ids.has(j.line.Store.Fold(id))
}

// foundSent foretells a selected message anew when another with its id was sent by this job, or is about to be, and only then: one that
// stays where it is stands in nobody's way. The lock is held.
func (d *decider) foundSent(l *deadletter.Letter) {
	switch {
	case l.ID == "" || !d.job.onceEach():
	case d.under[d.fold(l.ID)] > 0 || d.job.hasSent(l.ID):
		l.Prediction = preflight.Because(preflight.ClassUnknown, anotherSent)
	case l.Alone != nil:
		l.Prediction = d.job.remembering(*l.Alone, l.Ref)
	}
}

const anotherSent = "this job has sent another message with its id, or one that the store takes for the same: what becomes of this one depends on what became of that one"

// begun and settledAs count the messages with an id that were decided to be sent and are not settled; the lock is held. settledAs reports
// whether the message was counted: whether its work was to be done.
func (d *decider) begun(l *deadletter.Letter) {
	if l.ID != "" && d.job.does(l.Prediction.Class) {
		d.under[d.fold(l.ID)]++
	}
}

func (d *decider) fold(id string) string { return d.job.line.Store.Fold(id) }

func (d *decider) settledAs(f fact) bool {
	id := d.fold(f.id)
	n := d.under[id]
	if n > 1 {
		d.under[id] = n - 1
	} else {
		delete(d.under, id)
	}
	return n > 0
}

// stillWanted counts the references that a plan by single messages sends and that were not sent yet. What the plan has left out stays, also
// where it would be sent by what is known by now; of messages that are equal in everything as many are sent as were to be.
func (j *liveJob) stillWanted() map[string]int {
	if len(j.plan.Request.Refs) == 0 {
		return nil
	}
	wanted := move.CountRefs(j.plan.Request.Refs)
	for _, ref := range j.plan.LeftOut {
		wanted[ref]--
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for ref, n := range j.moved {
		wanted[ref] -= n
	}
	return wanted
}

// unfound counts the selected messages that the run has not come upon.
func (d *decider) unfound() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, left := range d.wanted {
		n += max(0, left)
	}
	return n
}

// found counts the selected messages that the run has come upon.
func (d *decider) found() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen
}

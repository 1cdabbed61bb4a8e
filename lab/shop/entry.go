package shop

import "time"

// published opens a copy before it is sent: a consumer may settle it before its confirm comes.
func (e *entry) published(which copyID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if which.copy == 0 {
		e.truth.Published++
	} else {
		e.truth.Resent++
	}
	e.open[which] = true
}

// unconfirmed says that the broker's confirm of a copy will never come.
func (e *entry) unconfirmed(which copyID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, open := e.open[which]; open {
		e.open[which] = false
	}
}

// startWork returns the number of the attempt, counted from 1.
func (e *entry) startWork(id string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	count := e.workCount(id)
	count.started++
	e.setWorkCount(id, count)
	return count.started
}

// attempts returns how often work on the message was started.
func (e *entry) attempts(id string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.workCount(id).started
}

// completeWork says that the work's effect has happened.
func (e *entry) completeWork(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	count := e.workCount(id)
	if count.completed > 0 {
		e.truth.DoubleEffects++
	}
	count.completed++
	e.setWorkCount(id, count)
}

func (e *entry) workCount(id string) workCount {
	if count, ok := e.works[id]; ok {
		return count
	}
	return e.olderWorks[id]
}

func (e *entry) setWorkCount(id string, count workCount) {
	if len(e.works) >= worksKept {
		e.olderWorks, e.works = e.works, make(map[string]workCount)
	}
	e.works[id] = count
}

// completed tells whether the message's work was ever completed.
func (e *entry) completed(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.workCount(id).completed > 0
}

// inherited puts a dead letter of an earlier day on record, with what its marker tells or hides.
func (e *entry) inherited(id string, marker remnant) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.truth.Inherited++
	switch marker {
	case finished:
		e.setWorkCount(id, workCount{started: 1, completed: 1})
	case working, stuck:
		e.dead[id] = true
	}
}

// cameBack opens a copy that was requeued from the dead-letter queue, when it is seen for the first time.
func (e *entry) cameBack(which copyID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reopen(which)
}

func (e *entry) reopen(which copyID) {
	if which.requeues == 0 || e.requeued[which] || e.olderRequeued[which] {
		return
	}
	if len(e.requeued) >= worksKept {
		e.olderRequeued, e.requeued = e.requeued, make(map[copyID]bool)
	}
	e.requeued[which] = true
	e.truth.Requeued++
	e.open[which] = true
}

// died closes a copy that the broker moved to the dead-letter queue. A copy that is told again is not counted again.
func (e *entry) died(which copyID, reason string, again bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reopen(which)
	if _, open := e.open[which]; !open {
		if again {
			return
		}
		e.truth.SettledAgain++
	}
	delete(e.open, which)
	e.truth.died(reason)
}

func (t *Truth) died(reason string) {
	t.DeadLetters++
	t.Deaths[reason]++
}

// delay says that a failed copy goes to the retry queue, which it reaches after the given time.
func (e *entry) delay(which copyID, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.delayed[which] = at
}

// delayEnds says that a copy was delivered; if it was away in the retry queue it is back.
func (e *entry) delayEnds(which copyID, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if since, ok := e.delayed[which]; ok {
		e.truth.Delay.add(at.Sub(since))
		delete(e.delayed, which)
	}
}

// crashed says that the consumer of a message died and left the message's marker in processing.
func (e *entry) crashed(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.truth.Crashes++
	e.dead[id] = true
}

// leftMarked says that a message was rejected, or returned, and left its marker in processing.
func (e *entry) leftMarked(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dead[id] = true
}

// revived says that a consumer owns the message's marker again.
func (e *entry) revived(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.dead, id)
}

// returned counts an in-flight hit that goes back to the queue.
func (e *entry) returned(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.truth.InFlight++
	if e.dead[id] {
		e.truth.Looping++
	}
}

// count runs an update of the counters.
func (e *entry) count(update func(*Truth)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	update(&e.truth)
}

// settled closes a copy that was acked or rejected.
func (e *entry) settled(which copyID, update func(*Truth)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, open := e.open[which]; !open {
		e.truth.SettledAgain++
	}
	delete(e.open, which)
	update(&e.truth)
}

// acked closes a copy and records how long its delivery took.
func (e *entry) acked(which copyID, took time.Duration, update func(*Truth)) {
	e.settled(which, func(truth *Truth) {
		truth.Messages++
		truth.Ack.add(took)
		update(truth)
	})
}

// restless counts the copies that are still to be settled, without those that loop and those that nobody can vouch for.
func (e *entry) restless() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	count := 0
	for which, sure := range e.open {
		if sure && !e.dead[which.id] {
			count++
		}
	}
	return count
}

package playground

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

// crashed says that the consumer of a message died and left the message's marker in processing.
func (e *entry) crashed(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.truth.Crashes++
	e.dead[id] = true
}

// leftMarked says that a message went to the dead-letter queue and left its marker in processing.
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

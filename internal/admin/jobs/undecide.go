package jobs

import (
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
)

// Undecide takes back decisions to send messages that were not sent in time, because the broker read nothing: the messages are to be
// decided on again, by what their markers say then. A marker that was cleared stays so.
func (d *decider) Undecide(letters []dedup.DeadLetter, decisions []requeue.Decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range letters {
		if decisions[i].Target == "" { // done with when it was decided on
			continue
		}
		d.settledAs(d.forget(letters[i].Ref)) // else, asked again, it would be taken for a copy of itself
		d.back(letters[i].Ref)
	}
	d.wake()
}

// forget drops what was found out about one copy of a message; the lock is held.
func (d *decider) forget(ref string) fact {
	f := d.facts[ref]
	if f.copies--; f.copies > 0 {
		d.facts[ref] = f
	} else {
		delete(d.facts, ref)
	}
	return f
}

package events

// mostRetries bounds the retry counters that wait to be read.
const mostRetries = 50_000

// retryCounts counts the failures at which a retry counter reached the limit of its scheme. A notification says that a counter
// was set and not to what: each is read soon after, once for all that was written until then, and the reading stands behind
// those writes in the stream. It is pure: the caller reads.
type retryCounts struct {
	limit int64
	// waiting are the counters that were written since they were last read, last what they were then.
	waiting map[string]*waitingRetry
	fresh   []string
	last    *memory
	gaveUp  int64
	// undone are the ids that were given up and whose work was not seen done since; lost counts them. A copy that was sent again and
	// given up again is in gaveUp once more, and no further message in lost.
	undone *memory
	lost   int64
}

type waitingRetry struct {
	id     string
	writes int64
	asked  bool
}

func newRetryCounts(limit int) *retryCounts {
	return &retryCounts{limit: int64(limit), waiting: map[string]*waitingRetry{}, last: newMemory(), undone: newMemory()}
}

// event takes one notification of the retry counter of a message.
func (r *retryCounts) event(key, id, name string) error {
	switch name {
	case "set", "incrby":
		w := r.waiting[key]
		if w == nil {
			if len(r.waiting) >= mostRetries {
				return errOverflow
			}
			w = &waitingRetry{id: id}
			r.waiting[key] = w
			r.fresh = append(r.fresh, key)
		}
		w.writes++
	case "del", "expired", "evicted", "rename_from", "move_from":
		if w := r.waiting[key]; w != nil {
			// It is gone before it could be read: each write counted one more.
			before, _ := r.last.get(key)
			r.count(w.id, before, before+w.writes)
			delete(r.waiting, key)
		}
		r.last.drop(key)
	}
	return nil
}

// count adds the failures that took a counter from one value to another and reached the limit.
func (r *retryCounts) count(id string, before, now int64) {
	r.gaveUp += max(0, now-max(before, r.limit-1))
	if before < r.limit && now >= r.limit && !r.undone.has(id) {
		r.lost++
		r.undone.put(id, 0)
	}
}

// completed takes the id of work that was done: whatever had been given up of it is not lost.
func (r *retryCounts) completed(id string) {
	if r.limit > 0 && r.undone.drop(id) {
		r.lost--
	}
}

// ask returns counters to be read now, at most so many.
func (r *retryCounts) ask(most int) []string {
	var keys []string
	for len(r.fresh) > 0 && len(keys) < most {
		key := r.fresh[0]
		r.fresh = r.fresh[1:]
		if w := r.waiting[key]; w != nil && !w.asked {
			w.asked = true
			keys = append(keys, key)
		}
	}
	return keys
}

// read takes the value of a counter as it was behind all writes so far; ok is false where it is no number.
func (r *retryCounts) read(key string, value int64, ok bool) {
	w := r.waiting[key]
	if w == nil {
		return
	}
	delete(r.waiting, key)
	if !ok {
		return
	}
	before, known := r.last.get(key)
	if !known || before > value {
		before = value - w.writes
	}
	r.count(w.id, before, value)
	r.last.put(key, value)
}

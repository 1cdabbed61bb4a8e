package truth

// Expected are the counts that follow from the knobs alone, for a run without races: two deliveries of one message that work at the
// same time.
type Expected struct {
	Published, Completions, Duplicates, Swallowed, Failures, GaveUp, Crashes, LostAcks int64
}

// Expect counts what must come out of n messages of a case under a seed.
func Expect(c Case, seed uint64, n int) Expected {
	var e Expected
	f := fate{seed, c}
	for i := range n {
		e.add(f, f.id(i))
	}
	return e
}

func (e *Expected) add(f fate, id string) {
	copies := int64(1)
	if _, again := f.resend(id); again {
		copies = 2
	}
	e.Published += copies
	if f.endless(id) {
		e.Crashes++
		return
	}
	if f.crashes(id) {
		e.Crashes++
		if f.c.swallowsCrashed() {
			e.Swallowed += copies // the delivery that comes back, and every other one
			return
		}
	}
	failures := f.failures(id)
	switch {
	case failures > 0 && !f.c.requeues():
		e.Failures++
		e.Swallowed += copies - 1
		return
	case f.alwaysFails(id):
		e.Failures += retryLimit + copies - 1
		e.GaveUp += copies
		return
	}
	e.Failures += int64(failures)
	e.Completions++
	e.Duplicates += copies - 1
	if f.losesAck(id) {
		e.LostAcks++
		e.Duplicates++
	}
}

// expected are the counts of a run that follow from the knobs. A hit on work under way that was done later is a duplicate.
func (c Counts) expected() Expected {
	return Expected{Published: c.Published, Completions: c.Completions, Duplicates: c.Duplicates + c.Early, Swallowed: c.Swallowed,
		Failures: c.Failures, GaveUp: c.GaveUp, Crashes: c.Crashes, LostAcks: c.LostAcks}
}

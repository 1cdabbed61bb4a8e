package dedup

import "time"

// Verdict says what a processing marker's owner is doing, as far as the evidence goes.
type Verdict string

// The verdicts on a processing marker.
const (
	StillWorking Verdict = "still working"
	ProbablyDead Verdict = "probably dead"
	Orphan       Verdict = "orphan"
	Looping      Verdict = "looping"
	CannotTell   Verdict = "cannot tell"
)

// Verdicts returns every verdict in the order in which pages show them.
func Verdicts() []Verdict { return []Verdict{ProbablyDead, Orphan, Looping, CannotTell, StillWorking} }

// Stuck reports whether the message of a marker cannot proceed: its owner is gone, or it goes round for longer than processing takes.
func (v Verdict) Stuck() bool { return v == ProbablyDead || v == Orphan || v == Looping }

// OwnerUnknown reports whether nothing shows whether anybody works on the message. That it loops does not: a second copy of it loops
// on the marker of an owner that is slow.
func (v Verdict) OwnerUnknown() bool { return v == CannotTell || v == Looping }

// metFor is how long what was seen of a marker's deliveries is taken for what goes on.
const metFor = time.Minute

// birthDoubt is how much later than it seems a marker can have been born: stores round times to whole seconds, and the
// offset of their clocks is known to about a second.
const birthDoubt = 2 * time.Second

// bareFor is how long a marker must have been seen without the expiry that its consumers set right after it: the two
// commands are milliseconds apart.
const bareFor = 5 * time.Second

// Evidence is what the broker says of all pipelines of one store, for the verdict on its markers. Times are by our clock.
type Evidence struct {
	// At is the moment that is judged: a marker of the last complete pass was seen at At or later, and every reading
	// below had ended by then, so that a marker which was completed meanwhile is not taken for a dead one. Whoever judges
	// a live reading sets At to the time of that reading.
	At time.Time
	// Missing says why there is no evidence: the broker does not answer; empty when there is.
	Missing string
	// MaxProcessing is the longest time that processing takes, the largest of the pipelines; WorkP99 the measured 99th
	// percentile of the work time, 0 when unknown.
	MaxProcessing time.Duration
	WorkP99       time.Duration
	// AutoAck is true when deliveries are not acked by hand: then no unacked message proves nothing.
	AutoAck bool
	// Consumers, Ready and Unacked are sums over the source queues; nil when not known.
	Consumers *int64
	Ready     *int64
	Unacked   *int64
	// NothingOut holds the two newest moments at which no delivery was out in any source queue, newest first; Empty the
	// two newest at which the source queues held no message at all. Each is the earliest time that the reading can speak
	// of, so that a marker born before it was there.
	NothingOut [2]time.Time
	Empty      [2]time.Time
	// Closed is when a reading showed that every connection that consumed from the source queues before ClosedSince had
	// been closed; both are zero when one of them may be open. A closed connection proves nothing where another one that
	// was there at a marker's birth goes on.
	Closed      time.Time
	ClosedSince time.Time
	// NoConsumersSince is since when the source queues have had no consumer; zero when they have some or it is not known.
	NoConsumersSince time.Time
	// DeadLetters is the depth of the dead-letter queues, read no earlier than Empty: it tells of the time when nothing was out,
	// which may be long ago. DeadLettersNow is their newest depth, for telling people. Each is nil when not known, as when there
	// are none.
	DeadLetters    *int64
	DeadLettersNow *int64
	// SetsExpiry is true when a pass has seen processing markers that expire: the consumers do set what their scheme says.
	SetsExpiry bool
	// Met are the markers that are asked for again and again; nil when not known. Redelivering is true when messages of the source
	// queues were redelivered in the last minute.
	Met          *Met
	Redelivering bool
	// Bound is what can be said of the overdue markers whose owners are not known together.
	Bound Bound
	// ClockOffset is the store's clock minus ours.
	ClockOffset time.Duration
}

// Limit is the age up to which a worker can be at work: the larger of MaxProcessing and twice WorkP99. It is 0
// when MaxProcessing is not known.
func (e Evidence) Limit() time.Duration {
	if e.MaxProcessing <= 0 {
		return 0
	}
	return max(e.MaxProcessing, 2*e.WorkP99)
}

// Judge says what the owner of a marker is doing, with the reasons in plain words for the page. It is pure, and never
// concludes from age alone: a dead owner takes an age that processing does not reach, and a broker that shows that
// nobody can be at it. See docs/markers.md for the rules and for the risk that remains.
func Judge(m Marker, e Evidence, s Scheme) (Verdict, []string) {
	c := consider(m, e, s)
	return c.verdict, c.reasons(e, s)
}

// VerdictOf is Judge without the reasons, for counting many markers.
func VerdictOf(m Marker, e Evidence, s Scheme) Verdict { return consider(m, e, s).verdict }

// A hindrance is what keeps a verdict from being reached.
type hindrance uint8

const (
	noHindrance hindrance = iota
	notInFlight           // the marker does not say that work is under way
	noStates              // the scheme has no states
	unnamed               // its key is too long to be known again in the next pass, or acted on
	noEvidence            // Evidence.Missing says why
	unborn                // the marker's beginning is not known
	noLimit               // nobody said how long processing takes
	tooYoung              // nobody seems to be at it, but a worker that lost its connection could be
	autoAck               // acks come before the work
	faceless              // a marker that was set anew would look the same
	mayBeOut              // the owner's delivery may be among those that are out
	mayEnd                // nothing was out, but in one reading only
)

// A consideration is the outcome of weighing the evidence.
type consideration struct {
	verdict Verdict
	hinder  hindrance
	// age is how long the marker has been in its state, at least when atLeast.
	age     time.Duration
	atLeast bool
	aged    bool
	// out are the readings after the birth in which nothing was out, empty those in which the queues were empty.
	out, empty moments
	closed     bool
	// met: deliveries of the message met the marker again and again, and are returned.
	met bool
	// bare: the marker has no expiry although its consumers set one right after it.
	bare bool
	// given is when an operation of ours gave it one; zero when none did.
	given time.Time
}

// moments are at most two moments, newest first.
type moments struct {
	at [2]time.Time
	n  int
}

// consider weighs the evidence.
//
// With manual acks a living owner holds its delivery unacked from before the marker's birth until after the marker's end,
// on a connection that was there at the birth. So it is gone when a reading after the birth shows nothing unacked, or when
// every connection of that time is closed. Gone from the broker, that is: one that lost its connection may finish its
// work, and for this the age is required beside the evidence.
//
// A marker that lacks the expiry which its consumers set right after it tells of itself that its owner ended in between.
func consider(m Marker, e Evidence, s Scheme) consideration {
	c := consideration{verdict: CannotTell}
	switch {
	case m.State == Present || (m.State == Processing && len(s.States) > 0 && !s.Lock && !shows(s, Processing)):
		c.hinder = noStates
		return c
	case m.State != Processing:
		c.hinder = notInFlight
		return c
	}
	if m.TooLong != "" {
		c.hinder = unnamed
		return c
	}
	age := e.age(m, s)
	c.age, c.aged, c.atLeast = age.Span, age.Known, age.AtLeast
	seen := seenSince(m, e, s)
	switch {
	case e.Missing != "":
		c.hinder = noEvidence
		return c
	case !c.aged:
		c.hinder = unborn
		return c
	case e.Limit() <= 0:
		c.hinder = noLimit
		return c
	}
	// Without a time and, by its scheme, without an expiry it cannot be seen whether it is still the one of before.
	known := !m.Since.IsZero() || (s.ProcessingTTL > 0 && s.Expires())
	if !e.AutoAck && known {
		c.out, c.empty = after(e.NothingOut, seen, e.At), after(e.Empty, seen, e.At)
		c.met = s.OnInFlight == "nack" && !s.Lock && e.Redelivering && e.Met.holds(m, seen, e.At)
		c.closed = e.ClosedSince.After(seen.Add(birthDoubt)) && !e.Closed.After(e.At)
	}
	c.bare = e.SetsExpiry && s.ProcessingTTL > 0 && bareSpan(m, e.At) >= bareFor
	c.given = m.ExpirySet
	c.conclude(e)
	if c.met && (c.hinder == mayBeOut || c.hinder == mayEnd) {
		c.verdict = Looping
	}
	if c.hinder == mayBeOut && !known {
		c.hinder = faceless
	}
	return c
}

// holds reports whether a marker as it is at a moment was met by deliveries not long before, and not before it was seen first.
func (met *Met) holds(m Marker, seen, at time.Time) bool {
	if met == nil || m.Key == "" || m.Expires.IsZero() {
		return false
	}
	expires, ok := met.Expires[m.Key]
	// A remaining life that is added to a clock is some milliseconds off.
	same := ok && expires.Sub(m.Expires).Abs() <= 20*time.Millisecond
	return same && met.From.After(seen.Add(birthDoubt)) && at.Sub(met.To) <= metFor
}

// bareSpan is for how long a marker is known to have been without an expiry, until we gave it one or until now.
func bareSpan(m Marker, now time.Time) time.Duration {
	switch {
	case m.FirstSeen.IsZero():
		return 0
	case !m.ExpirySet.IsZero():
		return m.ExpirySet.Sub(m.FirstSeen)
	case m.Expires.IsZero():
		return now.Sub(m.FirstSeen)
	}
	return 0
}

// conclude reaches the verdict from what was counted.
func (c *consideration) conclude(e Evidence) {
	gone := c.out.n >= 2 || c.closed
	switch {
	case c.age <= e.Limit() && !gone && c.out.n == 0 && !deserted(e):
		c.verdict = StillWorking
	case c.age <= e.Limit():
		c.hinder = tooYoung
	case e.AutoAck && !c.bare:
		c.hinder = autoAck
	case c.out.n >= 2 && c.empty.n >= 2 && e.DeadLetters != nil && *e.DeadLetters == 0:
		c.verdict = Orphan
	case gone || c.bare:
		c.verdict = ProbablyDead
	case c.out.n == 1:
		c.hinder = mayEnd
	default:
		c.hinder = mayBeOut
	}
}

// age is the age by which a marker is judged. The holder of a lock showed that it lives when it last renewed its lease, so
// that its age counts from then.
func (e Evidence) age(m Marker, s Scheme) Age {
	age := AgeOf(m, e.At, e.ClockOffset)
	sign := renewal(m, e, s)
	if sign.IsZero() {
		return age
	}
	quiet := max(0, e.At.Sub(sign))
	if !age.Known {
		return Age{Span: quiet, Known: true, AtLeast: true}
	}
	age.Span = min(age.Span, quiet)
	return age
}

// seenSince returns from when on a reading of the broker tells of this marker, by our clock: not before its state began,
// nor before it was first seen as it still is, because a beginning that is computed from a wrong time to live, or read
// in a wrong zone, can lie too early. Of a lock it is when the lease was last renewed.
func seenSince(m Marker, e Evidence, s Scheme) time.Time {
	seen := m.FirstSeen
	if !m.Since.IsZero() {
		seen = latest(seen, m.Since.Add(-e.ClockOffset))
	}
	return latest(seen, renewal(m, e, s))
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// renewal returns when a lock was last taken or renewed by its holder, zero for what is no lock with a lease.
func renewal(m Marker, e Evidence, s Scheme) time.Time {
	if !s.Lock || m.Expires.IsZero() || !m.ExpirySet.IsZero() || s.ProcessingTTL <= 0 {
		return time.Time{}
	}
	return m.Expires.Add(-s.ProcessingTTL - e.ClockOffset)
}

// after keeps the distinct moments that lie certainly after a birth and not after the moment that is judged.
func after(all [2]time.Time, birth, at time.Time) moments {
	var kept moments
	for _, t := range all {
		if t.IsZero() || !t.After(birth.Add(birthDoubt)) || t.After(at) || (kept.n > 0 && !t.Before(kept.at[0])) {
			continue
		}
		kept.at[kept.n] = t
		kept.n++
	}
	return kept
}

// deserted reports whether the broker knows of nobody who could be at work.
func deserted(e Evidence) bool {
	return e.Consumers != nil && *e.Consumers == 0 && (e.AutoAck || (e.Unacked != nil && *e.Unacked == 0))
}

func shows(s Scheme, state State) bool {
	for _, has := range s.States {
		if has == state {
			return true
		}
	}
	return false
}

// Overdue reports whether a marker is older than processing takes, as far as its age is known.
func (e Evidence) Overdue(m Marker, s Scheme) bool {
	age := e.age(m, s)
	return e.Limit() > 0 && age.Known && age.Span > e.Limit()
}

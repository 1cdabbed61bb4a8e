package jobs

import (
	"context"
	"errors"
	"sync"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// errEnough ends a run when as many messages were sent as may be: the first ones, or what an operator may move.
var errEnough = errors.New("as many messages were sent as may be")

// A storeError ends a run whose markers cannot be looked up.
type storeError struct{ why string }

func (e *storeError) Error() string { return "markers cannot be looked up: " + e.why }

// storeTries is how many batches in a row may go without their markers being looked up, where such messages can be left out.
const storeTries = 3

// A fact is what was found out about a message before it was decided on.
type fact struct {
	id    string
	class preflight.Class
	// unselected says that the plan does not speak of the message.
	unselected bool
	// marker is what the store held when the message was sent; nil for none.
	marker *dedup.Sighting
	// death is the newest of the message; nil for none.
	death  *message.Death
	copies int
}

// A decider says what becomes of the messages of a run by the plan. It is a requeue.Decider.
type decider struct {
	*tools
	job *liveJob

	filter deadletter.Filter
	// wanted counts the selected references; nil where single messages are not selected.
	wanted map[string]int
	// most is how many messages may be moved in all by this run; 0 for any number.
	most int64

	mu sync.Mutex
	// The rest is under mu. out counts, by reference, what was decided to be sent and is not settled; sending is their sum.
	out     map[string]int
	sending int64
	// under counts likewise, by message id, those whose work will be done.
	under map[string]int
	sent  int64
	// seen counts the selected messages that are settled, whatever became of them.
	seen  int64
	facts map[string]fact
	// failed counts the batches in a row whose markers could not be looked up.
	failed int
	enough bool
	// turned counts the messages that were left because they may run twice by now.
	turned int
	// idle wakes a Decide that waits until nothing is under way.
	idle chan struct{}
}

func (r *jobRunner) newDecider(j *liveJob, most int64) (*decider, error) {
	f, err := deadletter.ParseFilter(j.plan.Request.Filter, j.plan.Made.UTC())
	if err != nil {
		return nil, err
	}
	return &decider{
		tools: r.tools, job: j, filter: f, most: most, wanted: j.stillWanted(), out: map[string]int{}, under: map[string]int{}, facts: map[string]fact{},
		idle: make(chan struct{}, 1),
	}, nil
}

// reconnected forgets what was under way: it is in the queue again, and is decided on again. So may be what was sent.
func (d *decider) reconnected() {
	d.job.forgetSent()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out, d.sending, d.turned, d.under, d.facts = map[string]int{}, 0, 0, map[string]int{}, map[string]fact{}
	d.wake()
}

func (d *decider) wake() {
	select {
	case d.idle <- struct{}{}:
	default:
	}
}

// settled returns what was found out about a message that is settled, and forgets it.
func (d *decider) settled(s requeue.Settled) fact {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.forget(s.Ref)
	if !f.unselected {
		d.seen++
	}
	if s.Decision.Target == "" || s.Outcome == requeue.Guarded { // done with when it was decided on
		return f
	}
	d.back(s.Ref)
	works := d.settledAs(f)
	if s.Outcome == requeue.Moved {
		d.sent++
		if works {
			d.job.sentAlso(f.id)
		}
	}
	if s.Outcome != requeue.Unknown { // one of unknown outcome is taken again
		d.handled(s.Ref)
	}
	d.wake()
	return f
}

// back takes one off what was decided to be sent and is not settled; the lock is held.
func (d *decider) back(ref string) {
	switch n := d.out[ref]; {
	case n < 1:
		return
	case n == 1:
		delete(d.out, ref)
	default:
		d.out[ref] = n - 1
	}
	d.sending--
}

// handled notes that a selected message is done with in this run; the lock is held.
func (d *decider) handled(ref string) {
	if d.wanted != nil {
		d.wanted[ref]--
	}
}

// over reports whether nothing more is to be sent, once what is under way is at its target; the lock is held.
func (d *decider) over() bool {
	if d.most > 0 && d.sent+d.sending >= d.most {
		return true
	}
	if d.wanted == nil {
		return false
	}
	for ref, n := range d.wanted {
		if n-d.out[ref] > 0 {
			return false
		}
	}
	return true
}

// awaitRest waits until it is known whether anything more is to be sent; the lock is held, and given away meanwhile.
func (d *decider) awaitRest(ctx context.Context) error {
	for d.over() {
		if d.sending == 0 {
			d.enough = true
			return errEnough
		}
		d.mu.Unlock()
		var err error
		select {
		case <-d.idle:
		case <-ctx.Done():
			err = ctx.Err()
		}
		d.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// ended reports whether the run was ended because enough was sent.
func (d *decider) ended() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.enough
}

// Decide says what becomes of messages. Markers are cleared here, before any of the messages is published.
func (d *decider) Decide(ctx context.Context, dead []dedup.DeadLetter) ([]requeue.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.awaitRest(ctx); err != nil {
		return nil, err
	}
	letters := make([]deadletter.Letter, len(dead))
	for i := range dead {
		letters[i] = d.job.line.Letter(dead[i])
	}
	selected, err := d.predicted(ctx, letters)
	if err != nil {
		return nil, err
	}
	decisions := make([]requeue.Decision, len(letters))
	var clear []int
	for i := range letters {
		if !selected[i] {
			decisions[i].Why = notSelected
			d.note(letters[i], letters[i].Marker, true)
			continue
		}
		d.foundSent(&letters[i])
		decisions[i] = d.one(&letters[i])
		marker := letters[i].Marker
		if choice, _ := d.choice(&letters[i]); choice == preflight.ClearFirst && decisions[i].Target != "" && !d.guarded(&letters[i]) {
			clear, marker = append(clear, i), nil
		}
		d.note(letters[i], marker, false)
	}
	if err := d.clear(ctx, letters, decisions, clear); err != nil {
		return nil, err
	}
	for i := range decisions {
		if selected[i] && d.guarded(&letters[i]) && decisions[i].Target != "" {
			d.handled(letters[i].Ref)
		}
		if selected[i] && decisions[i].Target == "" && decisions[i].Why != afterFirst && decisions[i].Why != beyondMost {
			d.handled(letters[i].Ref)
		}
	}
	return decisions, nil
}

const (
	notSelected = "not selected"
	afterFirst  = "waits until the first messages were judged"
	beyondMost  = "beyond the most messages of this job"
)

// note keeps what was found out about a message until it is settled. Of copies that which is selected counts.
func (d *decider) note(l deadletter.Letter, marker *dedup.Sighting, unselected bool) {
	f := d.facts[l.Ref]
	if f.copies++; f.copies == 1 || f.unselected {
		f.id, f.class, f.marker, f.unselected, f.death = l.ID, l.Prediction.Class, marker, unselected, deadletter.NewestDeath(l)
	}
	d.facts[l.Ref] = f
}

// predicted looks the markers of the selected messages up, and says which are selected.
func (d *decider) predicted(ctx context.Context, letters []deadletter.Letter) ([]bool, error) {
	j := d.job
	whole := j.plan.Request.Whole
	asks := d.filter.Reads(deadletter.FieldClass)
	selected := make([]bool, len(letters))
	left := map[string]int{}
	var ask []int
	for i := range letters {
		ref := letters[i].Ref
		switch {
		case whole:
			selected[i] = true
		case d.wanted != nil:
			selected[i] = d.wanted[ref]-d.out[ref]-left[ref] > 0
			left[ref]++
		case !asks:
			selected[i] = d.matches(letters[i])
		}
		if selected[i] || asks {
			ask = append(ask, i)
		}
	}
	if j.plan.Request.Do != admin.Requeue && !asks {
		return selected, nil
	}
	if err := d.foretell(ctx, letters, ask); err != nil {
		return nil, err
	}
	if asks && !whole && d.wanted == nil {
		for i := range letters {
			selected[i] = d.matches(letters[i])
		}
	}
	return selected, nil
}

// matches compares a letter as it is shown, masked, with the frozen filter.
func (d *decider) matches(l deadletter.Letter) bool {
	if d.filter.Reads(deadletter.FieldBody) || d.filter.Reads(deadletter.FieldHeader) || d.filter.Reads(deadletter.FieldException) || d.filter.Reads(deadletter.FieldType) {
		return d.filter.Matches(d.mask.WithoutBody(&l)) // into no variable that it is made of
	}
	return d.filter.Matches(l)
}

// foretell predicts some letters. A store that does not answer several times in a row ends the run, unless the plan says that
// messages whose class is unknown are kept.
func (d *decider) foretell(ctx context.Context, letters []deadletter.Letter, ask []int) error {
	if len(ask) == 0 {
		return nil
	}
	j := d.job
	some := make([]deadletter.Letter, len(ask))
	for n, i := range ask {
		some[n] = letters[i]
		if j.edited != nil && j.edited.Ref == letters[i].Ref {
			some[n].Message = j.edited.Message
		}
	}
	failed := d.predictor.Foretell(ctx, j.line, some, j.deps.Now().Add(d.queues.Fresh(j.line).Wait()))
	for n, i := range ask {
		original := letters[i].Message
		letters[i] = some[n]
		letters[i].Message = original
		letters[i].Prediction = j.remembering(letters[i].Prediction, letters[i].Ref)
	}
	if failed == "" {
		d.failed = 0
		return nil
	}
	tries := storeTries
	if !j.plan.Selective {
		tries = 1
	}
	if d.failed++; d.failed >= tries && (j.plan.Choices[preflight.ClassUnknown] != preflight.KeepAsIs || j.plan.Request.Choices[preflight.ClassUnknown] != preflight.KeepAsIs) {
		return &storeError{failed}
	}
	return nil
}

func (d *decider) choice(l *deadletter.Letter) (preflight.Choice, string) {
	p := d.job.plan
	if p.Request.Do != admin.Requeue {
		return preflight.KeepAsIs, ""
	}
	return preflight.ChoiceOf(l.Prediction, p.Choices, p.ClearsDone)
}

// one decides on one selected message, before markers are cleared.
func (d *decider) one(l *deadletter.Letter) requeue.Decision {
	j := d.job
	choice, why := d.choice(l)
	if choice == preflight.LeaveOut {
		return requeue.Decision{Why: why}
	}
	target := l.Target
	switch j.plan.Request.Do {
	case admin.Discard:
		target = j.plan.Parking
	case admin.RestoreLetters:
		target = j.line.Dead.Name
	}
	if target == "" {
		return requeue.Decision{Why: l.NoTarget}
	}
	if d.guarded(l) {
		return requeue.Decision{Target: target} // the run keeps it, and says so
	}
	if d.unforeseen(l) {
		return d.leaveUnforeseen(l)
	}
	if d.most > 0 && d.sent+d.sending >= d.most {
		return requeue.Decision{Why: d.beyond()}
	}
	d.out[l.Ref]++
	d.sending++
	d.begun(l)
	decision := requeue.Decision{Target: target, Foreign: l.Foreign != ""}
	if j.edited != nil && j.edited.Ref == l.Ref {
		decision.Message = &j.edited.Message
	}
	return decision
}

// guarded reports whether the run keeps a message whatever is decided, because it was requeued too often.
func (d *decider) guarded(l *deadletter.Letter) bool {
	return d.job.plan.Request.Do == admin.Requeue && l.Requeues >= deadletter.GuardedAt
}

func (d *decider) beyond() string {
	if d.job.snapshot().State == JobCanary {
		return afterFirst
	}
	return beyondMost
}

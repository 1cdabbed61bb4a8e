package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
)

const (
	// saveEvery is how often at most the progress of a job is written and told.
	saveEvery = 250 * time.Millisecond
	// maxFailures is how many failures a job tells at once, maxClears how many operations.
	maxFailures = 50
	maxClears   = 100
	// rateSpan is the time over which the rate of a job is measured.
	rateSpan = 3 * time.Second
)

// A wish is what somebody asked of a job that is under way.
type wish uint8

const (
	goOn wish = iota
	pauseIt
	cancelIt
)

// A liveJob is a job that this process is carrying out.
type liveJob struct {
	// deps says where the job is kept, and whom it tells.
	deps *DeadLettersDeps
	line deadletter.Queue
	// who started it; markers are cleared in that name.
	who admin.Caller
	// entry is the audited intent.
	entry  admin.Entry
	plan   move.Plan
	edited *move.EditedMessage
	// saving is held from taking a picture of the job until that is written, so that no older one is written after a newer one. It is
	// taken before mu.
	saving sync.Mutex
	// aside are the writes that nobody waits for until the run has ended.
	aside sync.WaitGroup

	mu sync.Mutex
	// The rest is under mu. base is what earlier runs of the job moved and cleared; items are not written yet.
	job   Job
	base  Counts
	items []JobItem
	wish  wish
	// resting is true once no wish can be heard any more.
	resting bool
	stop    context.CancelFunc
	saved   time.Time
	// sent are the messages that were moved, as many as are told of: what the watch looks at.
	sent []JobItem
	// before are the markers of the first messages when they were sent, by id; nil for none. What an earlier run of the program has
	// sent is not in it.
	before map[string]*dedup.Sighting
	// moved counts what was moved by reference, where single messages are selected.
	moved map[string]int
	// ids are those of the messages that were sent; nil while there are none, or where it does not matter.
	ids *sentIDs
	// doubtful are the references of the messages that were moved right before the program died; the next run is told of them.
	doubtful []string
	// unfound is how many of the messages that were selected one by one the newest run did not come upon.
	unfound int
	// found is how many selected messages there were for the newest run, with those that were moved before it.
	found int64
	// turned is how many messages the newest run has left because they may run twice by now.
	turned int
	// marks are moments of the last seconds with the number of messages that were taken.
	marks []mark
}

type mark struct {
	at    time.Time
	taken int64
}

// ask notes a wish and ends the run that is under way. It is false when the job has come to rest: then nothing hears it.
func (j *liveJob) ask(w wish) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.resting {
		return false
	}
	j.wish = max(j.wish, w)
	if j.stop != nil {
		j.stop()
	}
	return true
}

// rest hears no further wish, unless it was asked to cancel the job meanwhile.
func (j *liveJob) rest() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.resting = j.wish != cancelIt
	return j.resting
}

// wished returns what was asked for.
func (j *liveJob) wished() wish {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.wish
}

// snapshot returns the job as it stands.
func (j *liveJob) snapshot() Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.copied()
}

// copied returns a copy; the lock is held.
func (j *liveJob) copied() Job {
	job := j.job
	job.Failures, job.Clears = slices.Clone(job.Failures), slices.Clone(job.Clears)
	return job
}

// become changes the state and tells it.
func (j *liveJob) become(ctx context.Context, state JobState, why string) error {
	j.mu.Lock()
	j.job.State, j.job.Why = state, why
	j.mu.Unlock()
	return j.save(ctx)
}

// waiting notes that the broker is waited for, or not any more. It is called where messages are acked, so that it must not wait for a disk.
func (j *liveJob) waiting(state JobState, why string) {
	j.mu.Lock()
	j.job.State, j.job.Why = state, why
	if why != "" {
		j.job.State = JobWaiting
	}
	j.mu.Unlock()
	j.aside.Go(func() {
		if err := j.save(context.Background()); err != nil {
			j.deps.Log.Error("the state of a job could not be kept", "job", j.job.ID, "err", err)
		}
	})
}

// took notes what became of messages. Its error stops the run: what nobody takes down must not happen.
func (j *liveJob) took(ctx context.Context, settled []requeue.Settled, facts func(requeue.Settled) fact) error {
	known := make([]fact, len(settled)) // found before the lock: who decides holds its own lock when it takes this one
	for i, s := range settled {
		known[i] = facts(s)
	}
	j.mu.Lock()
	for i, s := range settled {
		j.count(s, known[i])
	}
	// What a limit is counted against is written each time: what is not written would not count after a crash.
	due := j.plan.Most > 0 || j.deps.Now().Sub(j.saved) >= saveEvery
	j.mu.Unlock()
	if !due {
		return nil
	}
	return j.save(ctx)
}

// count notes what became of one message; the lock is held.
func (j *liveJob) count(s requeue.Settled, f fact) {
	c := s.Counts
	j.job.Counts = Counts{
		Moved: j.base.Moved + c.Moved, Left: c.Left, Bounced: c.Bounced, Guarded: c.Guarded,
		Returned: c.Returned, Rejected: c.Rejected, Unknown: c.Unknown, Cleared: j.job.Cleared,
	}
	item := JobItem{At: s.At, Ref: s.Ref, ID: f.id, Target: s.Decision.Target, Class: f.class, Outcome: string(s.Outcome), Text: s.Text, Death: f.death}
	if item.Text == "" && s.Outcome == requeue.Left {
		item.Text = s.Decision.Why
	}
	if s.Outcome == requeue.Moved && len(j.plan.Request.Refs) > 0 {
		j.moved[s.Ref]++
	}
	if f.unselected {
		return
	}
	j.job.Items++
	item.Seq = j.job.Items
	if item.Seq > MaxJobItems {
		j.job.Items = MaxJobItems
		item.Seq = 0
	} else {
		j.items = append(j.items, item)
		if s.Outcome == requeue.Moved {
			j.sent = append(j.sent, item)
			j.remember(f)
		}
	}
	if s.Outcome != requeue.Moved && (s.Outcome != requeue.Left || j.refused(f, item.Text)) {
		j.job.Failures = slices.Insert(j.job.Failures, 0, item)
		j.job.Failures = j.job.Failures[:min(len(j.job.Failures), maxFailures)]
	}
}

// refused reports whether a message that is left was to be sent by what the plan says of its class.
func (j *liveJob) refused(f fact, why string) bool {
	choice, planned := j.plan.Choices[f.class]
	return planned && choice != preflight.LeaveOut && why != notSelected && why != afterFirst && why != beyondMost
}

// remember keeps the marker that one of the first messages had when it was sent; the lock is held.
func (j *liveJob) remember(f fact) {
	if j.plan.Request.Canary == 0 || j.job.Canary != nil {
		return
	}
	if j.before == nil {
		j.before = map[string]*dedup.Sighting{}
	}
	j.before[f.id] = f.marker
}

// save writes how far the job came, and tells that it moved on.
func (j *liveJob) save(ctx context.Context) error {
	j.saving.Lock()
	defer j.saving.Unlock()
	ctx, cancel := admin.Writing(ctx)
	defer cancel()
	j.mu.Lock()
	now := j.deps.Now()
	j.saved = now
	j.measure(now)
	job, items := j.copied(), j.items
	j.items = nil
	j.mu.Unlock()
	if err := j.deps.Journal.SaveJob(ctx, job, items); err != nil {
		j.mu.Lock()
		j.items = append(items, j.items...)
		j.mu.Unlock()
		return fmt.Errorf("keep the progress of job %s: %w", job.ID, err)
	}
	j.deps.Changed("job:" + job.ID)
	return nil
}

// measure computes the rate of the last seconds; the lock is held.
func (j *liveJob) measure(now time.Time) {
	j.marks = append(j.marks, mark{now, j.job.Taken()})
	for len(j.marks) > 2 && now.Sub(j.marks[1].at) >= rateSpan {
		j.marks = j.marks[1:]
	}
	j.job.Rate = 0
	if took := now.Sub(j.marks[0].at).Seconds(); took > 0 && j.job.State != JobPaused && !j.job.State.Final() {
		j.job.Rate = max(0, float64(j.job.Taken()-j.marks[0].taken)) / took // another run counts anew what is left
	}
}

// left is how many messages there are still to take: those that were ready when the job began and were not moved.
func (j *liveJob) left() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return max(0, j.job.Limit-j.job.Moved)
}

// AtLeast reports whether more may have moved than is counted: what moved in the last moment before an interruption is not.
func (j Job) AtLeast() bool { return j.Resumed > 0 }

// words says in a sentence how far a job came.
func (j Job) words() string {
	if j.AtLeast() && j.Moved > 0 {
		return "at least " + j.Counts.words()
	}
	return j.Counts.words()
}

// words says in a sentence how many messages went where.
func (c Counts) words() string {
	var said []string
	for _, n := range []struct {
		n    int64
		word string
	}{
		{c.Moved, "moved"}, {c.Left, "left"}, {c.Bounced, "came back"}, {c.Guarded, "left after too many requeues"}, {c.Returned, "found no queue"},
		{c.Rejected, "refused by a full target"}, {c.Unknown, "unanswered"}, {c.Cleared, "markers cleared"},
	} {
		if n.n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n.n, n.word))
		}
	}
	if said == nil {
		return "nothing moved"
	}
	return strings.Join(said, ", ")
}

// source is the queue that the job takes messages from: the dead-letter queue, or the parking queue of a restore.
func (j *liveJob) source() dedup.QueueRef { return j.plan.Source }

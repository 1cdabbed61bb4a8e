package jobs

import (
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/operation"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/message"
)

// A JobState is where a job stands.
type JobState string

// The states of a job.
const (
	JobRunning JobState = "running"
	// JobCanary: the first messages are sent; JobWatching: they are being watched before the rest follows.
	JobCanary   JobState = "canary"
	JobWatching JobState = "watching"
	JobPaused   JobState = "paused"
	// JobWaiting: the broker is not there or in alarm; it goes on by itself.
	JobWaiting JobState = "waiting"
	// The final states.
	JobDone      JobState = "done"
	JobCancelled JobState = "cancelled"
	JobStopped   JobState = "stopped"
)

// Final reports whether a job in this state will not go on.
func (s JobState) Final() bool { return s == JobDone || s == JobCancelled || s == JobStopped }

// A Job is a plan of a move that is being or was carried out.
type Job struct {
	ID     string
	Plan   move.Plan
	By     string
	Reason string
	State  JobState
	// Why says why it is paused, waits or was stopped, in words; empty otherwise.
	Why     string
	Started time.Time
	Ended   time.Time // zero until it is final
	// Limit is the most messages that it takes: those that were ready when it began.
	Limit int64
	// Extent is how many of them it means to move.
	Extent move.Extent
	Counts
	// Resumed counts how often it went on after the program or the connection had ended; each may have made up to 256 copies.
	Resumed int
	// Rate is how many messages were looked at per second in the last seconds, whatever became of them.
	Rate float64
	// WatchedUntil is when the first messages will have been watched for long enough; zero before they are watched.
	WatchedUntil time.Time
	// Canary is the verdict on the first messages; nil without a canary or before it.
	Canary *CanaryVerdict
	// Aftermath is what became of the messages, by class and marker; nil before it is known.
	Aftermath *Aftermath
	// Arrived is how many messages came into the dead-letter queue since the job began; nil while unknown.
	Arrived *int64
	// Failures are the last messages that did not go through, newest first, at most 50.
	Failures []JobItem
	// Items is how many messages JobItems tells of: the first MaxJobItems.
	Items int64
	// Rested is true while no program works on it because the last one stopped in order: it is certain what was sent.
	Rested bool
	// Doubtful is the number of its last message whose ack may have been lost with a connection or a program: of those up to it nobody
	// knows whether they are in the dead-letter queue again. 0 for none.
	Doubtful int64
	// Clears are the operations that cleared markers for it, oldest first, at most 100; each can be undone by itself.
	Clears []string
	// RateBefore is the duplicate rate of the pipeline when it began, 0..1; nil when unknown.
	RateBefore *float64
}

// MaxJobItems is how many messages of a job are told of one by one.
const MaxJobItems = 10_000

// Counts are how many messages of a job went where. Every message that was taken is in exactly one of them.
type Counts struct {
	// Moved are at their target and out of the dead-letter queue.
	Moved int64
	// Left were looked at and left where they are; Bounced came back during the run and were left too; Guarded were left because
	// they were requeued too often.
	Left    int64
	Bounced int64
	Guarded int64
	// Returned found no queue, Rejected were refused by a full target: both are still where they were.
	Returned int64
	Rejected int64
	// Unknown were published without an answer: they are in the dead-letter queue, and may be at the target as well.
	Unknown int64
	// Cleared are the markers that were cleared before their message was sent.
	Cleared int64
}

// A JobItem is one message of a job.
type JobItem struct {
	// Job is set by ItemsOf alone.
	Job    string
	Seq    int64
	At     time.Time
	Ref    string
	ID     string
	Target string
	// Became says what became of it after it was moved, a word of Fates; empty until it is known, and where it never will be.
	Became  string
	Class   preflight.Class
	Outcome string // moved, left, bounced, guarded, returned, rejected, unknown
	Text    string
	// Death is the newest death that the message had had when it was taken, without exchange and routing keys; nil for none.
	Death *message.Death
}

// A CanaryVerdict says whether the first messages went well.
type CanaryVerdict struct {
	Sent int
	At   time.Time
	// Done, Failed, Processing and None count their markers; Back those that are in the dead-letter queue again.
	Done       int
	Failed     int
	Processing int
	None       int
	Back       int
	// Skipped had a marker of done work when they were sent: that it is still there tells nothing.
	Skipped int
	// Unknown have no marker that tells. Each message is in one count alone, and one that came back in Back, unless BackBy is the depth of
	// the queue: then Back is how many messages arrived, whose is not known.
	Unknown int
	// BackBy says how messages that came back were looked for, and what could not be seen.
	BackBy string
	// Good is true when the rest may follow; Text says why or why not.
	Good bool
	Text string
}

// An Aftermath is what became of the messages that a job moved, as far as markers tell.
type Aftermath struct {
	At time.Time
	// Asked is how many of the moved messages were looked up: those with an id, at most MaxScan.
	Asked   int
	Results map[preflight.Class]map[string]int // by class, and by the words of Fates
	// Back is how many messages of the job were in the dead-letter queue again; nil where it could not be looked at. BackBy says how they
	// were looked for.
	Back   *int64
	BackBy string
	// RateBefore and RateAfter are the duplicate rate of the pipeline, 0..1; nil when unknown.
	RateBefore *float64
	RateAfter  *float64
}

// A JobSummary is a job in a list.
type JobSummary struct {
	ID       string
	Do       admin.Move
	Pipeline string
	Queue    string
	By       string
	Reason   string
	State    JobState
	Started  time.Time
	Ended    time.Time
	Limit    int64
	Extent   move.Extent
	// Aftermath is what became of the messages; nil before it is known.
	Aftermath *Aftermath
	// Arrived is how many messages came into the dead-letter queue since the job began; nil while unknown.
	Arrived *int64
	// Resumed counts how often it went on after an interruption: what moved in the last moment before one is not in Counts.
	Resumed int
	Counts
}

// Progress returns how far a job of an extent came that takes at most limit messages: of picked messages those that were tried,
// else those that were looked at, whatever became of them.
func (c Counts) Progress(e move.Extent, limit int64) (done, of int64) {
	if e.Picked {
		done = c.Taken() - c.Left
		return done, max(done, e.Messages)
	}
	done = c.Taken()
	return done, max(done, limit)
}

// Taken counts the messages that were looked at, whatever became of them.
func (c Counts) Taken() int64 {
	return c.Moved + c.Left + c.Bounced + c.Guarded + c.Returned + c.Rejected + c.Unknown
}

// A StartRequest asks to carry out a plan.
type StartRequest = operation.Start

package requeue

import (
	"errors"
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// DefaultDrain is how long answers to what was published are waited for when a run ends. Whoever stops a run must wait for longer.
const DefaultDrain = 15 * time.Second

// A Config says what a run moves and where it must stop. A zero field means its default.
type Config struct {
	// Run names the run, in a header of everything that it publishes. A run that is resumed keeps its name: it then knows the
	// messages that it has sent already, should they come back.
	Run string
	// Queue is the queue that messages are taken from.
	Queue dedup.QueueRef
	// Limit is the most messages that are taken: those that were ready when the run began. What arrives later stays.
	Limit int64
	// Window is the most messages that are taken and neither acked nor kept; so it bounds what is published without an answer, and
	// the copies that one crash can make. 1 to 256, 256 by default.
	Window int
	// Rate is the most messages that are published per second; 0 for no limit.
	Rate float64
	// Single takes messages one by one, so that many can be kept in hand while others are moved.
	Single bool
	// MaxHeld and MaxHeldBytes bound the messages that are kept in hand because they are left out: 10,000 and 64 MiB by default.
	// Without Single it is half the window at most, because the broker sends no more than a window ahead.
	MaxHeld      int
	MaxHeldBytes int64
	// MaxRequeues is how often a message may have been requeued before it is left where it is: 3 by default, negative for any number.
	MaxRequeues int
	// Uncounted leaves the count of requeues as it is, for moves that no consumer sees: into a parking queue and back.
	Uncounted bool
	// DeliveryLimit is how often the queue takes a message back before it destroys it, as a quorum queue with a delivery limit does;
	// 0 when it takes it back for ever. The least that a run touches is dedup.MinDeliveryLimit. With a limit messages are taken one by
	// one, four at most on their way and four kept in hand, so that no more are given back; and a message that has two returns left goes by itself, and stops
	// the run if it cannot be moved.
	DeliveryLimit int64
	// MeanBytes is the mean size of the bodies in the queue, if it is known. What is sent ahead is held in memory, and no more is
	// than 64 MiB if all have this size.
	MeanBytes int64
	// Waiting is told why the run waits for the broker, and an empty string when it goes on; not when it ends. It must return at once.
	Waiting func(why string)
	// RefKey makes the references of messages; nil for plain ones.
	RefKey message.RefKey
	// Doubtful are the references of messages that an earlier run moved last, and whose acks may be lost: one like them that comes again is
	// taken above Limit, and counted as repeated.
	Doubtful []string
	// Reconnected is told that a lost connection was replaced: what had not moved is taken and decided on again, and so is what had moved
	// if its ack was lost. All that was settled before is reported by then. It must return at once.
	Reconnected func()
	Timing
}

// Timing bounds how long and how often a run tries. A zero field means its default.
type Timing struct {
	// MaxBlocked is how long the broker may refuse to read what is published: 5 minutes.
	MaxBlocked time.Duration
	// MaxAge is how long a message may be in hand: 20 minutes. Brokers take them away after 30 (consumer_timeout).
	MaxAge time.Duration
	// MaxAway is how long the broker may not be reached: 5 minutes. Backoff is the first pause before it is tried again, doubled each
	// time up to MaxBackoff: half a second and 30 seconds.
	MaxAway    time.Duration
	Backoff    time.Duration
	MaxBackoff time.Duration
	// Linger is how long after a lost connection an empty queue is looked at again: 45 seconds. A broker that has not noticed the end
	// of a connection holds on to what it had handed out on it; it notices by the heartbeat.
	Linger time.Duration
	// Drain is how long answers are waited for when the run ends: DefaultDrain by default.
	Drain time.Duration
	// MaxFailures is how many publishes to one target may fail in a row: 20.
	MaxFailures int
	// MaxFruitless is how many connections in a row may end without a message moved: 5.
	MaxFruitless int
}

// MaxWindow is the most messages of a run that are taken and neither acked nor kept, and so the copies that one crash can make.
const MaxWindow = 256

const (
	// maxBatch is how many messages are decided on at once.
	maxBatch = 64
	// ahead is how much time a slow run may need for what is sent ahead to it: the broker counts from the moment of sending, and takes
	// a message away after 30 minutes.
	ahead = 10 * time.Minute
	// countedWindow is the window, and the most messages that are left out, where each return counts.
	countedWindow = 4
)

// withDefaults returns the configuration with every zero field set, or says what is wrong with it.
func (c Config) withDefaults() (Config, error) {
	setDefault(&c.Window, MaxWindow)
	setDefault(&c.MaxHeld, 10_000)
	setDefault(&c.MaxHeldBytes, 64<<20)
	setDefault(&c.MaxRequeues, 3)
	setDefault(&c.MaxBlocked, 5*time.Minute)
	setDefault(&c.MaxAge, 20*time.Minute)
	setDefault(&c.MaxAway, 5*time.Minute)
	setDefault(&c.Backoff, 500*time.Millisecond)
	setDefault(&c.MaxBackoff, 30*time.Second)
	setDefault(&c.Linger, 45*time.Second)
	setDefault(&c.Drain, DefaultDrain)
	setDefault(&c.MaxFailures, 20)
	setDefault(&c.MaxFruitless, 5)
	if c.Waiting == nil {
		c.Waiting = func(string) {}
	}
	if c.Reconnected == nil {
		c.Reconnected = func() {}
	}
	if c.Rate > 0 {
		c.Window = min(c.Window, max(2, int(min(MaxWindow, math.Ceil(c.Rate*ahead.Seconds())))))
	}
	if c.MeanBytes > 0 {
		c.Window = min(c.Window, int(max(1, min(MaxWindow, maxMotionBytes/c.MeanBytes))))
	}
	if c.DeliveryLimit > 0 {
		c.Single = true
		c.Window, c.MaxHeld = min(c.Window, countedWindow), min(c.MaxHeld, countedWindow)
	}
	return c, c.validate()
}

func (c Config) validate() error {
	var wrong []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	check(c.Run != "" && len(c.Run) <= 255, "a run needs a name of 1 to 255 bytes")
	check(c.Queue.Name != "", "a run needs a queue to take messages from")
	check(c.Window >= 1 && c.Window <= MaxWindow, "the window is %d, and must be 1 to %d", c.Window, MaxWindow)
	check(c.Rate >= 0 && !math.IsInf(c.Rate, 0), "the rate is %g, and must be 0 or more", c.Rate)
	check(c.MaxHeld > 0 && c.MaxHeldBytes > 0, "the bounds of what is held must be more than 0")
	check(min(c.MaxBlocked, c.MaxAge, c.MaxAway, c.Backoff, c.MaxBackoff, c.Linger, c.Drain) > 0, "no time may be negative")
	check(c.MaxFailures > 0 && c.MaxFruitless > 0 && c.DeliveryLimit >= 0, "no bound of failures may be negative")
	check(c.DeliveryLimit <= 0 || c.DeliveryLimit >= dedup.MinDeliveryLimit,
		"the queue destroys what comes back more than %d times, and at least %d are needed", c.DeliveryLimit, dedup.MinDeliveryLimit)
	return errors.Join(wrong...)
}

// setDefault sets a field that is zero.
func setDefault[T comparable](field *T, to T) {
	var zero T
	if *field == zero {
		*field = to
	}
}

// inMotion is the most messages that are between taking and settling at once: a window, and no more than are sent in a minute, so
// that none grows old waiting for its turn.
func (c Config) inMotion() int {
	if c.Rate == 0 {
		return c.Window
	}
	return int(min(float64(c.Window), max(1, math.Ceil(c.Rate*60))))
}

// batch is the most messages that are decided on at once: no more than are sent in a second, so that what was found out about a
// message is fresh when it is sent.
func (c Config) batch() int {
	if c.Rate == 0 {
		return maxBatch
	}
	return int(min(maxBatch, max(1, math.Ceil(c.Rate))))
}

// maxLeft is the most messages that are kept in hand because they are left out.
func (c Config) maxLeft() int {
	if c.Single {
		return c.MaxHeld
	}
	return min(c.MaxHeld, c.maxFailed())
}

// maxFailed is the most messages that are kept in hand because they could not be published: half the window.
func (c Config) maxFailed() int { return max(1, c.Window/2) }

// taking says how the source takes messages.
func (c Config) taking() Taking {
	if c.Single {
		return Taking{Held: c.Window + c.MaxHeld, Single: true}
	}
	return Taking{Held: c.Window}
}

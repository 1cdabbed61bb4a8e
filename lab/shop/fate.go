package shop

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// A fate decides what happens to each message of one pipeline. It is a pure function of the seed, the message's id
// and the attempt, so that it does not depend on which consumer gets the message when.
type fate struct {
	seed   uint64
	config PipelineConfig
}

// draw returns a random source that is the same for the same question about the same message.
func (f fate) draw(question, id string, attempt int) *rand.Rand {
	sum := fnv.New64a()
	for _, part := range []string{f.config.Name, question, id, strconv.Itoa(attempt)} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return rand.New(rand.NewPCG(f.seed, sum.Sum64()))
}

func (f fate) happens(share float64, question, id string, attempt int) bool {
	return share > 0 && f.draw(question, id, attempt).Float64() < share
}

// resend tells whether the producer sends the message a second time when it does so with a share of them, and how long after the first.
func (f fate) resend(share float64, id string) (time.Duration, bool) {
	delay := f.draw("resend delay", id, 0).Float64()
	again := !f.stuck(id) && f.happens(share, "resend", id, 0)
	return 400*time.Millisecond + time.Duration(delay*float64(3*time.Second)), again
}

func (f fate) rejected(id string) bool {
	return !f.stuck(id) && f.config.RetryDelay == 0 && f.happens(f.config.Reject, "reject", id, 0)
}

func (f fate) rejectedMarked(id string) bool {
	return f.config.RetryDelay == 0 && f.happens(f.config.RejectMarked, "reject marked", id, 0)
}

// crashes concerns the first attempt only: a message that killed every consumer would never leave the queue.
func (f fate) crashes(id string, attempt int) bool {
	return attempt == 1 && f.happens(f.config.Crash, "crash", id, 0)
}

// poisonous messages fail at every attempt, until somebody fixes what makes them fail.
func (f fate) poisonous(id string) bool { return f.happens(f.config.Poison, "poison", id, 0) }

func (f fate) fails(id string, attempt int) bool {
	return f.happens(f.config.Failure, "fail", id, attempt)
}

// stillBroken is the share of requeued messages whose cause was not fixed before they were sent again.
const stillBroken = 0.25

// broken tells of a message that somebody requeued whether what killed it kills it again. What died of its age or of a
// full queue, or lost its consumer, has nothing to fix.
func (f fate) broken(which copyID) bool {
	ill := which.copy == inheritedCopy || f.rejected(which.id) || f.poisonous(which.id)
	return ill && f.happens(stillBroken, "still broken", which.id, int(which.requeues))
}

func (f fate) losesAck(id string, attempt int) bool {
	return f.happens(f.config.LostAck, "lose ack", id, attempt)
}

// workTime is log-normal, cut off at 20 times its median so that a tail cannot outlast a marker.
func (f fate) workTime(id string, attempt int) time.Duration {
	factor := math.Exp(f.config.Spread * f.draw("work", id, attempt).NormFloat64())
	return time.Duration(float64(f.config.Work) * min(factor, 20))
}

// firstStuck is the number of the first message that gets stuck: late enough for the shop to be seen at work.
const firstStuck = 20

// stuck concerns a fixed few messages, so that a pipeline has exactly as many as its configuration asks for.
func (f fate) stuck(id string) bool {
	for n := range f.config.Stuck {
		if id == messageID(f.config.Name, f.seed, firstStuck+n) {
			return true
		}
	}
	return false
}

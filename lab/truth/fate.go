package truth

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// A fate decides what happens to each message of one case. It is a pure function of the seed and of the message's id, so that what
// must come out can be counted without running anything.
type fate struct {
	seed uint64
	c    Case
}

// draw returns a number in [0,1) that is the same for the same question about the same message.
func (f fate) draw(question, id string) float64 { return f.source(question, id).Float64() }

func (f fate) source(question, id string) *rand.Rand {
	sum := fnv.New64a()
	for _, part := range []string{f.c.Name, question, id} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return rand.New(rand.NewPCG(f.seed, sum.Sum64()))
}

func (f fate) happens(share float64, question, id string) bool {
	return share > 0 && f.draw(question, id) < share
}

// name is the message id that the producer gives the n-th message, or the text that makes its body unique.
func (f fate) name(n int) string { return fmt.Sprintf("%s-%x-%06d", f.c.Name, f.seed, n) }

// body is the body of the n-th message.
func (f fate) body(n int) []byte { return fmt.Appendf(nil, `{"order":%q}`, f.name(n)) }

// id is the id of the n-th message as consumers see it.
func (f fate) id(n int) string {
	if f.c.Knobs.NoID {
		return bodyID(f.body(n))
	}
	return f.name(n)
}

func bodyID(body []byte) string {
	sum := md5.Sum(body)
	return hex.EncodeToString(sum[:])
}

// firstEndless is the number of the first message that loops for ever: traffic is under way when it comes.
const firstEndless = 20

func (f fate) endless(id string) bool {
	for i := range f.c.Knobs.Endless {
		if id == f.id(firstEndless+10*i) {
			return true
		}
	}
	return false
}

// resend says whether the producer sends the message again, and how long after the first time.
func (f fate) resend(id string) (time.Duration, bool) {
	if f.endless(id) || !f.happens(f.c.Knobs.Resend, "resend", id) {
		return 0, false
	}
	return time.Second + time.Duration(f.draw("resend delay", id)*float64(3*time.Second)), true
}

func (f fate) crashes(id string) bool { return f.happens(f.c.Knobs.Crash, "crash", id) }

func (f fate) losesAck(id string) bool {
	return !f.alwaysFails(id) && f.happens(f.c.Knobs.LostAck, "lose ack", id)
}

func (f fate) alwaysFails(id string) bool { return f.happens(f.c.Knobs.AlwaysFail, "always fail", id) }

// failures is how many attempts at the message fail, of those that were not cut short by a crash.
func (f fate) failures(id string) int {
	switch {
	case f.alwaysFails(id):
		return math.MaxInt
	case f.happens(f.c.Knobs.Fail, "fail", id):
		return f.c.Knobs.FailTimes
	}
	return 0
}

// work is how long an attempt at the message takes.
func (f fate) work(id string) time.Duration {
	k := f.c.Knobs
	switch k.Work {
	case LogNormal:
		return time.Duration(float64(k.Median) * math.Exp(spread*f.source("work", id).NormFloat64()))
	case Bimodal:
		if f.happens(slowShare, "slow", id) {
			return slowWork
		}
	}
	return k.Median
}

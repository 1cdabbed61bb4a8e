package deadletter

import (
	"encoding/hex"
	"fmt"
	"math"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// read returns a message of the line's queue as a letter, without its marker.
func (l Queue) read(m message.Message) Letter {
	return l.Letter(dedup.KeyedDeadLetter(l.Refs, l.Ref, m))
}

// Letter completes a dead letter with what can be read in it.
func (l Queue) Letter(dead dedup.DeadLetter) Letter {
	letter := Letter{DeadLetter: dead, Size: int(dead.BodySize())}
	if letter.Foreign = l.foreign(dead.Headers); letter.Foreign == "" {
		letter.Requeues = int(min(message.Requeues(dead.Headers), math.MaxInt32))
	}
	sum := dead.BodySum()
	letter.Hash = hex.EncodeToString(sum[:])
	if dead.LeftOut != nil {
		letter.Hidden = fmt.Sprintf("the body has %d bytes, and a look keeps none of more than %d MiB", dead.LeftOut.Size, message.MaxPeekedBody>>20)
	}
	id, ok, why := l.IDs.ID(dead.Message)
	if letter.ID = id; !ok {
		letter.NoID = why
	}
	letter.Exception, letter.Failure = exceptionOf(dead.Message)
	letter.Target, letter.NoTarget = l.targetOf(dead)
	if letter.Target == "" && len(dead.Deaths) == 0 && dead.Malformed == "" && l.sole {
		letter.Target, letter.NoTarget = l.Pipeline.Queues[0], ""
		letter.TargetNote = "it was published to this queue and has no death history; the queue has only one pipeline, and that has only one queue"
	}
	return l.Aimed(letter)
}

// RanAs returns the run of this dashboard that sent a message; empty when none did.
func RanAs(headers map[string]any) string {
	text, _ := HeaderWord(headers[message.HeaderRequeueRun])
	return text
}

package admin

import (
	"encoding/hex"
	"fmt"
	"math"

	"dedup-dashboard/internal/dedup"
)

// read returns a message of the line's queue as a letter, without its marker.
func (l line) read(m dedup.Message) Letter {
	return l.letter(dedup.KeyedDeadLetter(l.refs, l.queue, m))
}

// letter completes a dead letter with what can be read in it.
func (l line) letter(dead dedup.DeadLetter) Letter {
	letter := Letter{DeadLetter: dead, Size: int(dead.BodySize())}
	if letter.Foreign = l.foreign(dead.Headers); letter.Foreign == "" {
		letter.Requeues = int(min(dedup.Requeues(dead.Headers), math.MaxInt32))
	}
	sum := dead.BodySum()
	letter.Hash = hex.EncodeToString(sum[:])
	if dead.LeftOut != nil {
		letter.Hidden = fmt.Sprintf("the body has %d bytes, and a look keeps none of more than %d MiB", dead.LeftOut.Size, dedup.MaxPeekedBody>>20)
	}
	id, ok, why := l.ids.ID(dead.Message)
	if letter.ID = id; !ok {
		letter.NoID = why
	}
	letter.Exception, letter.Failure = exceptionOf(dead.Message)
	letter.Target, letter.NoTarget = l.targetOf(dead)
	if letter.Target == "" && len(dead.Deaths) == 0 && dead.Malformed == "" && l.sole {
		letter.Target, letter.NoTarget = l.pipeline.Queues[0], ""
		letter.TargetNote = "it was published to this queue and has no death history; the queue has only one pipeline, and that has only one queue"
	}
	return l.aimed(letter)
}

// ranAs returns the run of this dashboard that sent a message; empty when none did.
func ranAs(headers map[string]any) string {
	text, _ := headerWord(headers[dedup.HeaderRequeueRun])
	return text
}

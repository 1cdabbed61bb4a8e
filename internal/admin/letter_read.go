package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"dedup-dashboard/internal/dedup"
)

// The headers that this dashboard writes into what it requeues and parks.
const (
	headerRun   = "dedup-requeue-run"
	headerCount = "dedup-requeue-count"
)

// read returns a message of the line's queue as a letter, without its marker.
func (l line) read(m dedup.Message) Letter {
	return l.letter(dedup.NewDeadLetter(l.queue, m))
}

// letter completes a dead letter with what can be read in it.
func (l line) letter(dead dedup.DeadLetter) Letter {
	letter := Letter{DeadLetter: dead, Size: len(dead.Body), Requeues: requeuesOf(dead.Headers)}
	sum := sha256.Sum256(dead.Body)
	letter.Hash = hex.EncodeToString(sum[:])
	id, ok, why := l.ids.ID(dead.Message)
	if letter.ID = id; !ok {
		letter.NoID = why
	}
	letter.Exception, letter.Failure = exceptionOf(dead.Message)
	letter.Target, letter.NoTarget = l.targetOf(dead)
	return letter
}

// targetOf returns the queue that a requeue sends a letter to: the source queue of the pipeline that it died in last, else the
// queue of its newest death.
func (l line) targetOf(dead dedup.DeadLetter) (queue, why string) {
	if l.parked {
		return l.dead.Name, ""
	}
	for _, death := range dead.Deaths {
		if slices.Contains(l.pipeline.Queues, death.Queue) {
			return death.Queue, ""
		}
	}
	source, ok := dead.Source()
	switch {
	case !ok && len(l.pipeline.Queues) == 1 && dead.Malformed == "":
		return "", "it has no death history that says which queue it came from: it was published to this queue, or lost its headers"
	case !ok:
		return "", "its death history does not say which queue it came from"
	case source == l.dead.Name:
		return "", "it died in this dead-letter queue itself"
	}
	return source, ""
}

// requeuesOf reads how often this dashboard has requeued a message.
func requeuesOf(headers map[string]any) int {
	text, ok := headerWord(headers[headerCount])
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int(n)
}

// ranAs returns the run of this dashboard that sent a message; empty when none did.
func ranAs(headers map[string]any) string {
	text, _ := headerWord(headers[headerRun])
	return text
}

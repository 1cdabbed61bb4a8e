package events

import (
	"io"
	"time"
)

// readsApart is the least time between two reads of notifications. Each read of a busy server would bring one or two of them, and
// waking for each takes the processor from the server itself; what has not been waited for is read at once. Times that are told
// from notifications are late by that much at most.
const readsApart = time.Millisecond

// A calmReader reads a busy stream in larger pieces. It belongs to one goroutine.
type calmReader struct {
	from io.Reader
	last time.Time
}

// Read reads what is there, and waits before where it has just been read.
func (r *calmReader) Read(p []byte) (int, error) {
	if early := readsApart - time.Since(r.last); early > 0 {
		time.Sleep(early)
	}
	n, err := r.from.Read(p)
	r.last = time.Now()
	return n, err
}

package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"
)

// lineStream is a file of JSON values, one a line, to keep. It is sent as it is made: one value and streamBuffer bytes of it are in memory
// at most. What goes wrong in the midst cuts the connection: the status was sent, and whoever reads it must learn that it is not whole.
type lineStream struct {
	name  string
	lines iter.Seq[any]
}

const streamBuffer = 64 << 10

func (b lineStream) write(w http.ResponseWriter, r *request) error {
	csvHeader(w, b.name)
	h := w.Header()
	h.Set("Content-Type", ndjsonType)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	w.WriteHeader(http.StatusOK)
	out := bufio.NewWriterSize(patient{w, http.NewResponseController(w)}, streamBuffer)
	n := 0
	for line := range b.lines {
		n++
		text, err := json.Marshal(line)
		if err != nil {
			return &cutError{fmt.Errorf("line %d of %s: %w", n, b.name, err)}
		}
		if _, err := out.Write(append(text, '\n')); err != nil {
			return &goneError{err}
		}
	}
	if err := out.Flush(); err != nil {
		return &goneError{err}
	}
	return nil
}

// cutError means that an answer which is under way cannot be brought to its end.
type cutError struct{ err error }

func (e *cutError) Error() string { return "the answer was cut short: " + e.err.Error() }
func (e *cutError) Unwrap() error { return e.err }

// patient gives each write the time of exportWrite.
type patient struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (p patient) Write(b []byte) (int, error) {
	if err := p.rc.SetWriteDeadline(time.Now().Add(exportWrite)); err != nil {
		return 0, err
	}
	return p.w.Write(b)
}

package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"

	"dedup-dashboard/internal/server/show"
)

// lineStream is a file of JSON values, one a line, to keep. It is sent as it is made: one value and streamBuffer bytes of it are in memory
// at most. What goes wrong in the midst writes a last line that says so and cuts the connection: the status was sent, and whoever reads it
// must learn that it is not whole.
type lineStream struct {
	name string
	// open gives the values to send; nothing is sent before. What send returns is for open to note, and to return.
	open func(send func(iter.Seq[any]) error) error
}

const streamBuffer = 64 << 10

func (b lineStream) write(w http.ResponseWriter, _ *request) error {
	return b.open(func(lines iter.Seq[any]) error {
		csvHeader(w, b.name)
		h := w.Header()
		h.Set("Content-Type", ndjsonType)
		h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		w.WriteHeader(http.StatusOK)
		rc := http.NewResponseController(w)
		out := bufio.NewWriterSize(patient{w, rc}, streamBuffer)
		sent := 0
		for line := range lines {
			text, err := json.Marshal(line)
			if err != nil {
				defer func() { _ = rc.Flush() }() // what is cut is sent up to there
				return b.cut(out, sent, err)
			}
			if _, err := out.Write(append(text, '\n')); err != nil {
				return &goneError{err}
			}
			sent++
		}
		if err := out.Flush(); err != nil {
			return &goneError{err}
		}
		return nil
	})
}

// cut writes a last line that says that the file is not whole.
func (b lineStream) cut(out *bufio.Writer, sent int, why error) error {
	text, _ := json.Marshal(map[string]string{"cut": fmt.Sprintf("This file is not whole: it was cut after %s.", show.Counted(sent, "line"))}) // a text can be written
	_, err := out.Write(append(text, '\n'))
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return &goneError{err}
	}
	return &cutError{fmt.Errorf("line %d of %s: %w", sent+1, b.name, why)}
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

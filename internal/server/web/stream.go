package web

import (
	"bufio"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"

	"dedup-dashboard/internal/server/show"
)

// Lines is a file of JSON values, one a line, to keep. It is sent as it is made: one value and StreamBuffer bytes of it are in memory
// at most. What goes wrong in the midst writes a last line that says so and cuts the connection: the status was sent, and whoever reads it
// must learn that it is not whole.
type Lines struct {
	Name string
	// Open gives the values to send; nothing is sent before. What send returns is for open to note, and to return.
	Open func(send func(iter.Seq[any]) error) error
}

// StreamBuffer is how many bytes of a stream of lines are in memory.
const StreamBuffer = 64 << 10

// ExportWrite bounds the writing of one page: the time that a whole answer has would end a long table half way.
const ExportWrite = 30 * time.Second

// Write sends the lines as they are made.
func (b Lines) Write(w http.ResponseWriter, _ *Request) error {
	return b.Open(func(lines iter.Seq[any]) error {
		AttachAs(w, b.Name)
		h := w.Header()
		h.Set("Content-Type", NDJSONType)
		h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		w.WriteHeader(http.StatusOK)
		rc := http.NewResponseController(w)
		out := bufio.NewWriterSize(patient{w, rc}, StreamBuffer)
		sent := 0
		for line := range lines {
			text, err := json.Marshal(line)
			if err != nil {
				defer func() { _ = rc.Flush() }() // what is cut is sent up to there
				return b.cut(out, sent, err)
			}
			if _, err := out.Write(append(text, '\n')); err != nil {
				return &Gone{Err: err}
			}
			sent++
		}
		if err := out.Flush(); err != nil {
			return &Gone{Err: err}
		}
		return nil
	})
}

// cut writes a last line that says that the file is not whole.
func (b Lines) cut(out *bufio.Writer, sent int, why error) error {
	text, _ := json.Marshal(map[string]string{"cut": fmt.Sprintf("This file is not whole: it was cut after %s.", show.Counted(sent, "line"))}) // a text can be written
	_, err := out.Write(append(text, '\n'))
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return &Gone{Err: err}
	}
	return &Cut{Err: fmt.Errorf("line %d of %s: %w", sent+1, b.Name, why)}
}

// Cut means that an answer which is under way cannot be brought to its end.
type Cut struct{ Err error }

// Error says what cut it.
func (e *Cut) Error() string { return "the answer was cut short: " + e.Err.Error() }

// Unwrap is what cut it.
func (e *Cut) Unwrap() error { return e.Err }

// patient gives each write the time of ExportWrite.
type patient struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (p patient) Write(b []byte) (int, error) {
	if err := p.rc.SetWriteDeadline(time.Now().Add(ExportWrite)); err != nil {
		return 0, err
	}
	return p.w.Write(b)
}

// NDJSONType is the content type of lines of JSON.
const NDJSONType = "application/x-ndjson; charset=utf-8"

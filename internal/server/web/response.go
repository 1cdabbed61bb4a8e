package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/a-h/templ"
)

// Write renders the page, or the region that a live page asks for.
func (p Page) Write(w http.ResponseWriter, r *Request) error {
	var buf bytes.Buffer
	if r.Fragment != "" && p.ok() {
		if err := templ.RenderFragments(r.Context(), &buf, p.Component, r.Fragment); err != nil {
			return fmt.Errorf("render fragment %s: %w", r.Fragment, err)
		}
		if buf.Len() == 0 {
			return NotFound("This page has no such region")
		}
	} else if err := p.Component.Render(r.Context(), &buf); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	return send(w, p.code(), "text/html; charset=utf-8", buf.Bytes())
}

func (p Page) code() int {
	if p.Status == 0 {
		return http.StatusOK
	}
	return p.Status
}

func (p Page) ok() bool { return p.code() < http.StatusBadRequest }

// Write sends the browser on.
func (d Redirect) Write(w http.ResponseWriter, r *Request) error {
	// http.Redirect would write a body with the address in it; the header is enough.
	w.Header().Set("Location", d.To)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// Write encodes the value with indentation.
func (b JSON) Write(w http.ResponseWriter, r *Request) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	if err := enc.Encode(b.Value); err != nil {
		return fmt.Errorf("encode JSON: %w", err)
	}
	status := b.Status
	if status == 0 {
		status = http.StatusOK
	}
	return send(w, status, "application/json; charset=utf-8", buf.Bytes())
}

// Write sends the table as a file to keep.
func (b CSV) Write(w http.ResponseWriter, r *Request) error {
	var buf bytes.Buffer
	if err := b.Table.Write(&buf); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	AttachAs(w, b.Filename)
	return send(w, http.StatusOK, CSVType, buf.Bytes())
}

// CSVType is the content type of tables.
const CSVType = "text/csv; charset=utf-8"

// AttachAs makes the answer a file to keep under a name, of which strange characters are replaced.
func AttachAs(w http.ResponseWriter, filename string) {
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": unsafeInFilename.ReplaceAllString(filename, "_")})
	w.Header().Set("Content-Disposition", disposition)
	w.Header().Set("Content-Type", CSVType)
}

var unsafeInFilename = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// Write sends the line.
func (b Text) Write(w http.ResponseWriter, r *Request) error {
	return send(w, b.Status, "text/plain; charset=utf-8", []byte(b.Text+"\n"))
}

// Write lets the handler answer.
func (h Standard) Write(w http.ResponseWriter, r *Request) error {
	h.Handler.ServeHTTP(w, r.Request)
	return nil
}

// send writes a whole body. An error means that the client has gone.
func send(w http.ResponseWriter, status int, contentType string, body []byte) error {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		return &Gone{Err: err}
	}
	return nil
}

// Gone means that the answer could not be sent because the client has gone: nothing to tell anybody.
type Gone struct{ Err error }

// Error says that nobody is there to hear it.
func (e *Gone) Error() string { return "client has gone: " + e.Err.Error() }

// Unwrap is the error of the connection.
func (e *Gone) Unwrap() error { return e.Err }

// Attachment is a file to keep, not to look at.
type Attachment struct {
	Name string
	Type string
	Body []byte
}

// Write sends the file, which no browser runs.
func (a Attachment) Write(w http.ResponseWriter, r *Request) error {
	h := w.Header()
	AttachAs(w, a.Name)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	return send(w, http.StatusOK, a.Type, a.Body)
}

// SetRetryAfter says after how many whole seconds a client may try again.
func SetRetryAfter(w http.ResponseWriter, after time.Duration) {
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
}

// Later is a response with the time after which to try again.
type Later struct {
	Response
	After time.Duration
}

// Write says when to try again, and answers.
func (l Later) Write(w http.ResponseWriter, r *Request) error {
	SetRetryAfter(w, l.After)
	return l.Response.Write(w, r)
}

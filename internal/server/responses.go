package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"regexp"

	"github.com/a-h/templ"

	"dedup-dashboard/internal/dedup"
)

func (p page) write(w http.ResponseWriter, r *request) error {
	var buf bytes.Buffer
	if r.Fragment != "" && p.ok() {
		if err := templ.RenderFragments(r.Context(), &buf, p.component, r.Fragment); err != nil {
			return fmt.Errorf("render fragment %s: %w", r.Fragment, err)
		}
		if buf.Len() == 0 {
			return &dedup.Error{Kind: dedup.NotFound, Public: "This page has no such region"}
		}
	} else if err := p.component.Render(r.Context(), &buf); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	return send(w, p.code(), "text/html; charset=utf-8", buf.Bytes())
}

func (p page) code() int {
	if p.status == 0 {
		return http.StatusOK
	}
	return p.status
}

func (p page) ok() bool { return p.code() < http.StatusBadRequest }

func (d redirect) write(w http.ResponseWriter, r *request) error {
	// http.Redirect would write a body with the address in it; the header is enough.
	w.Header().Set("Location", d.to)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

func (b jsonBody) write(w http.ResponseWriter, r *request) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	if err := enc.Encode(b.v); err != nil {
		return fmt.Errorf("encode JSON: %w", err)
	}
	status := b.status
	if status == 0 {
		status = http.StatusOK
	}
	return send(w, status, "application/json; charset=utf-8", buf.Bytes())
}

func (b csvBody) write(w http.ResponseWriter, r *request) error {
	var buf bytes.Buffer
	if err := b.Write(&buf); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	csvHeader(w, b.Filename)
	return send(w, http.StatusOK, csvType, buf.Bytes())
}

const csvType = "text/csv; charset=utf-8"

func csvHeader(w http.ResponseWriter, filename string) {
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": unsafeInFilename.ReplaceAllString(filename, "_")})
	w.Header().Set("Content-Disposition", disposition)
	w.Header().Set("Content-Type", csvType)
}

var unsafeInFilename = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func (b textBody) write(w http.ResponseWriter, r *request) error {
	return send(w, b.status, "text/plain; charset=utf-8", []byte(b.text+"\n"))
}

func (h standard) write(w http.ResponseWriter, r *request) error {
	h.handler.ServeHTTP(w, r.Request)
	return nil
}

// send writes a whole body. An error means that the client has gone.
func send(w http.ResponseWriter, status int, contentType string, body []byte) error {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		return &goneError{err}
	}
	return nil
}

// goneError means that the answer could not be sent because the client has gone: nothing to tell anybody.
type goneError struct{ err error }

func (e *goneError) Error() string { return "client has gone: " + e.err.Error() }
func (e *goneError) Unwrap() error { return e.err }

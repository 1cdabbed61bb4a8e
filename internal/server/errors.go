package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"dedup-dashboard/internal/server/show"

	"github.com/labstack/echo/v4"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
	"dedup-dashboard/web/templates"
)

// The kinds of error that only the web knows, beside those of package dedup.
const (
	unauthorized     dedup.Kind = "unauthorized"
	methodNotAllowed dedup.Kind = "method_not_allowed"
	tooLarge         dedup.Kind = "too_large"
	tooMany          dedup.Kind = "too_many"
	wrongHost        dedup.Kind = "wrong_host"
)

// httpError is an error as the web tells it.
type httpError struct {
	status     int
	kind       dedup.Kind
	heading    string
	message    string
	retryAfter time.Duration
}

func (e *httpError) Error() string { return e.message }

// ours reports whether the fault lies here rather than in the request, so that the log has more about it.
func (e *httpError) ours() bool { return e.status >= http.StatusInternalServerError }

// ledBack is an error whose page leads to somewhere better than the overview.
type ledBack struct {
	error
	href string
	// word is what the way is called.
	word string
}

func (e *ledBack) Unwrap() error { return e.error }

func invalid(message string) error {
	return &dedup.Error{Kind: dedup.Invalid, Public: message}
}

// conflict refuses what the state of things does not allow.
func conflict(message string) error {
	return &dedup.Error{Kind: dedup.Conflict, Public: message}
}

func notFound(message string) error {
	return &dedup.Error{Kind: dedup.NotFound, Public: message}
}

// describe maps any error to what the web tells of it. Only texts that were made to be shown are shown.
func describe(err error) *httpError {
	var web *httpError
	var soon *auth.TooSoon
	var known *dedup.Error
	var framework *echo.HTTPError
	var size *http.MaxBytesError
	switch {
	case errors.As(err, &web):
		return web
	case errors.As(err, &soon):
		return &httpError{http.StatusTooManyRequests, tooMany, "Too many tries", show.Sentence(soon.Error()), soon.RetryAfter}
	case errors.Is(err, auth.ErrBusy):
		return &httpError{http.StatusServiceUnavailable, dedup.Unavailable, "Busy", show.Sentence(auth.ErrBusy.Error()) + "; try again", time.Second}
	case errors.Is(err, series.ErrStarting):
		return &httpError{http.StatusServiceUnavailable, dedup.Unavailable, "Starting", show.Sentence(series.ErrStarting.Error()) + "; try again in a moment", 2 * time.Second}
	case errors.As(err, &size):
		return &httpError{http.StatusRequestEntityTooLarge, tooLarge, "Too large", fmt.Sprintf("The request is larger than %d bytes", size.Limit), 0}
	case errors.As(err, &known):
		return describeKind(known)
	case errors.As(err, &framework):
		return describeStatus(framework.Code)
	case errors.Is(err, context.Canceled):
		return &httpError{http.StatusServiceUnavailable, dedup.Unavailable, "Broken off", "The request was broken off", 0}
	default:
		return describeStatus(http.StatusInternalServerError)
	}
}

func describeKind(e *dedup.Error) *httpError {
	d := &httpError{kind: e.Kind, message: e.Public}
	switch e.Kind {
	case dedup.Invalid:
		d.status, d.heading = http.StatusBadRequest, "That cannot be done"
	case dedup.NotFound:
		d.status, d.heading = http.StatusNotFound, "Not found"
	case dedup.Conflict:
		d.status, d.heading = http.StatusConflict, "Something changed in between"
	case dedup.Forbidden:
		d.status, d.heading = http.StatusForbidden, "Not allowed"
	case dedup.Unavailable:
		d.status, d.heading = http.StatusServiceUnavailable, "Not available at the moment"
	default:
		return describeStatus(http.StatusInternalServerError)
	}
	return d
}

func describeStatus(status int) *httpError {
	switch status {
	case http.StatusNotFound:
		return &httpError{status, dedup.NotFound, "Not found", "There is no such page", 0}
	case http.StatusMethodNotAllowed:
		return &httpError{status, methodNotAllowed, "Not allowed", "This address does not take requests of this method", 0}
	case http.StatusRequestEntityTooLarge:
		return &httpError{status, tooLarge, "Too large", "The request is too large", 0}
	case http.StatusBadRequest:
		return &httpError{status, dedup.Invalid, "That cannot be done", "The request is malformed", 0}
	default:
		return &httpError{http.StatusInternalServerError, dedup.Internal, "Internal error", "Something went wrong here; the log has more", 0}
	}
}

// errorBody is an error of the API.
type errorBody struct {
	Error errorFields `json:"error"`
}

type errorFields struct {
	Kind      dedup.Kind `json:"kind"`
	Message   string     `json:"message"`
	RequestID string     `json:"request_id"`
	// Fits is how many messages may be moved, where a move of more was refused.
	Fits *int64 `json:"fits,omitempty"`
}

// errorResponse returns what is sent for an error: a page to people, JSON to programs.
func (s *Server) errorResponse(r *request, k kind, err error) response {
	d := describe(err)
	message := show.Clean(d.message, 2000)
	if k == pageKind {
		view := templates.ErrorView{Frame: s.errorFrame(r, d.heading), Status: d.status, Heading: d.heading, Message: show.EndSentence(message)}
		if to := (*ledBack)(nil); errors.As(err, &to) {
			view.Back, view.BackWord = to.href, to.word
		} else if r.Method == http.MethodPost && r.Who.Can(viewer) {
			view.Back = s.back(r)
		}
		if d.ours() {
			view.RequestID = r.ID // the page says that the log has more under it
		}
		return errorPage{page{d.status, templates.Error(view)}, d.retryAfter}
	}
	fields := errorFields{Kind: d.kind, Message: message, RequestID: r.ID}
	if many := (*admin.TooMany)(nil); errors.As(err, &many) {
		fields.Fits = &many.Fits
	}
	return errorJSON{jsonBody{d.status, errorBody{fields}}, d.retryAfter}
}

type errorPage struct {
	page
	retryAfter time.Duration
}

func (e errorPage) write(w http.ResponseWriter, r *request) error {
	setRetryAfter(w, e.retryAfter)
	return e.page.write(w, r)
}

type errorJSON struct {
	jsonBody
	retryAfter time.Duration
}

func (e errorJSON) write(w http.ResponseWriter, r *request) error {
	setRetryAfter(w, e.retryAfter)
	if e.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="dedup-dashboard"`)
	}
	return e.jsonBody.write(w, r)
}

func setRetryAfter(w http.ResponseWriter, after time.Duration) {
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
}

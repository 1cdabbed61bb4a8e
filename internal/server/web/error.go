package web

import (
	"errors"
	"net/http"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Unauthorized is the kind of error that only the web knows and more than the server tells of: nobody is signed in.
const Unauthorized dedup.Kind = "unauthorized"

// Error is an error as the web tells it.
type Error struct {
	Status     int
	Kind       dedup.Kind
	Heading    string
	Message    string
	RetryAfter time.Duration
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Ours reports whether the fault lies here rather than in the request, so that the log has more about it.
func (e *Error) Ours() bool { return e.Status >= http.StatusInternalServerError }

// LedBack is an error whose page leads to somewhere better than the overview.
type LedBack struct {
	Err  error
	Href string
	// Word is what the way is called.
	Word string
}

// Error is that of the error itself.
func (e *LedBack) Error() string { return e.Err.Error() }

// Unwrap is the error itself.
func (e *LedBack) Unwrap() error { return e.Err }

// Invalid refuses what was asked for, in words for people.
func Invalid(message string) error {
	return &dedup.Error{Kind: dedup.Invalid, Public: message}
}

// Conflict refuses what the state of things does not allow.
func Conflict(message string) error {
	return &dedup.Error{Kind: dedup.Conflict, Public: message}
}

// NotFound says that there is no such thing.
func NotFound(message string) error {
	return &dedup.Error{Kind: dedup.NotFound, Public: message}
}

// Unavailable says that what was asked for cannot be had at the moment, or by this dashboard.
func Unavailable(message string) error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: message}
}

// Starting says that nothing is known of any pipeline, because the first round has not ended.
func Starting() error {
	return &Error{Status: http.StatusServiceUnavailable, Kind: dedup.Unavailable, Heading: "Starting",
		Message: "Nothing is known yet: the first round has not ended; try again in a moment", RetryAfter: 2 * time.Second}
}

// NoMarkers says that there is nothing behind the pages of single markers.
func NoMarkers() error {
	return Unavailable("This dashboard was started without access to single markers")
}

// FormError tells a form that is too large from one that cannot be read.
func FormError(err error) error {
	var size *http.MaxBytesError
	if errors.As(err, &size) {
		return err
	}
	return &dedup.Error{Kind: dedup.Invalid, Public: "The form cannot be read", Err: err}
}

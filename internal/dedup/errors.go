package dedup

import "errors"

// Kind classes an error by what a caller can do about it; the server maps it to a status code in one place.
type Kind string

// The kinds of errors.
const (
	Invalid     Kind = "invalid"
	NotFound    Kind = "not_found"
	Conflict    Kind = "conflict"
	Forbidden   Kind = "forbidden"
	Unavailable Kind = "unavailable"
	Internal    Kind = "internal"
)

// Error is an error with a message that may be shown to people. Err, if any, is the cause and stays in the log.
type Error struct {
	Kind   Kind
	Public string
	Err    error
}

// Error returns the public message and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Public
	}
	return e.Public + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first Error in err's chain, and Internal for every other error.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// PublicText returns the message of the first Error in err's chain, and a neutral sentence for every other error.
func PublicText(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Public
	}
	return "Internal error"
}

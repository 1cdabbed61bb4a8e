package admin

import (
	"fmt"

	"dedup-dashboard/internal/dedup"
)

// JournalFailed is why an operation or a job is halted whose progress cannot be kept.
const JournalFailed = "the journal could not be written"

// Invalid is the error of a request that is not understood.
func Invalid(text string) error { return &dedup.Error{Kind: dedup.Invalid, Public: text} }

// Conflict is the error of what cannot be done as things stand.
func Conflict(format string, args ...any) error {
	return &dedup.Error{Kind: dedup.Conflict, Public: fmt.Sprintf(format, args...)}
}

// NotFound is the error of what is not there.
func NotFound(text string) error { return &dedup.Error{Kind: dedup.NotFound, Public: text} }

// Forbidden is the error of what may not be done, whoever asks.
func Forbidden(text string) error { return &dedup.Error{Kind: dedup.Forbidden, Public: text} }

// Unavailable is the error of what cannot be done at this moment.
func Unavailable(text string) error { return &dedup.Error{Kind: dedup.Unavailable, Public: text} }

// JournalError is the error of a journal that cannot be read or written.
func JournalError(what string, err error) error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: what + "; look at the program's log", Err: err}
}

// NotWritten is the error of a change that was not made, because the journal cannot be written.
func NotWritten(err error) error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: "Nothing was changed, because the journal cannot be written", Err: err}
}

// TokenUsed is the error of a request whose idempotency token has started another plan.
func TokenUsed(err error) error {
	return &dedup.Error{Kind: dedup.Conflict, Public: "Nothing was done, because this idempotency token has started another plan; repeat the request with a new one", Err: err}
}

// Readable puts an error of a reader into words, unless it is in words already.
func Readable(store string, err error) error {
	if dedup.KindOf(err) != dedup.Internal {
		return err
	}
	return &dedup.Error{Kind: dedup.Unavailable, Public: "Store " + store + " did not answer in time or not as expected", Err: err}
}

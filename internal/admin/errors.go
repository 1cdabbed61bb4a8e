package admin

import (
	"fmt"

	"dedup-dashboard/internal/dedup"
)

// journalFailed is why an operation or a job is halted whose progress cannot be kept.
const journalFailed = "the journal could not be written"

// invalid is the error of a request that is not understood.
func invalid(text string) error { return &dedup.Error{Kind: dedup.Invalid, Public: text} }

// conflict is the error of what cannot be done as things stand.
func conflict(format string, args ...any) error {
	return &dedup.Error{Kind: dedup.Conflict, Public: fmt.Sprintf(format, args...)}
}

// notFound is the error of what is not there.
func notFound(text string) error { return &dedup.Error{Kind: dedup.NotFound, Public: text} }

// unkept is the error of a journal that cannot be read or written.
func unkept(what string, err error) error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: what + "; look at the program's log", Err: err}
}

// notKept is the error of a change that was not made, because the journal cannot be written.
func notKept(err error) error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: "Nothing was changed, because the journal cannot be written", Err: err}
}

// tokenUsed is the error of a request whose idempotency token has started another plan.
func tokenUsed(err error) error {
	return &dedup.Error{Kind: dedup.Conflict, Public: "Nothing was done, because this idempotency token has started another plan; repeat the request with a new one", Err: err}
}

// readable puts an error of a reader into words, unless it is in words already.
func readable(store string, err error) error {
	if dedup.KindOf(err) != dedup.Internal {
		return err
	}
	return &dedup.Error{Kind: dedup.Unavailable, Public: "Store " + store + " did not answer in time or not as expected", Err: err}
}

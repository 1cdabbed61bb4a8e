package pace

import (
	"context"
	"dedup-dashboard/internal/dedup"
	"errors"
	"time"
)

// ErrChanged says that the store is no longer the one that a pass began with.
var ErrChanged = errors.New("the store changed during the pass")

// ErrMoved says that markers moved within the store during a pass, so that it may have missed some or counted them twice. Those of the pass before
// are still the store's.
var ErrMoved = errors.New("markers moved during the pass")

// Explained returns err as a *dedup.Error in the words of describe. It passes nil, the end of the caller's context, ErrChanged, ErrMoved and its own
// results through.
func Explained(err error, describe func(error) string) error {
	var known *dedup.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, ErrChanged) || errors.Is(err, ErrMoved) {
		return err
	}
	return &dedup.Error{Kind: dedup.Unavailable, Public: describe(err), Err: err}
}

const (
	// AnswerTimeout is how long a server may take for one answer before it counts as not answering.
	AnswerTimeout = 3 * time.Second
	// LookTimeout bounds one Look.
	LookTimeout = 3 * AnswerTimeout
)

const (
	// LeastRetry and mostRetry bound the wait after a failed walk.
	LeastRetry = 500 * time.Millisecond
	mostRetry  = 3 * time.Second
	// staleWalk is how long a walk may be interrupted: then its first half is too old to go with a second.
	staleWalk = time.Minute
)

const (
	// MaxUndecodable is how many markers that cannot be decoded a pass lists.
	MaxUndecodable = 20
	// MaxSampleKey bounds the names that a sample keeps; a longer key is described instead.
	MaxSampleKey = 1024
	// MaxRetryCount bounds what one retry counter adds to a sum: a broken one must not drown the others.
	MaxRetryCount = 1_000_000
)

// CheckKeys bounds the part of the store that Check walks over.
const CheckKeys = 20_000

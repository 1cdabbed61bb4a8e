package alerts

import (
	"context"
	"errors"
	"time"
)

// errUnderWay is that of a call that was not made because the one before it has not come back.
var errUnderWay = errors.New("the one before has not come back yet")

// A lane makes calls one at a time beside the engine, and waits for each no longer than its patience: what hangs is left hanging, and
// everything else goes on. It belongs to one goroutine.
type lane[T any] struct {
	// answer is that of the call under way; nil while there is none.
	answer chan outcome[T]
}

type outcome[T any] struct {
	value T
	err   error
}

// call makes a call with a context that ends with the patience. An answer that comes after it is dropped with the next call, unless late
// takes it before: it is of another time.
func (l *lane[T]) call(ctx context.Context, patience time.Duration, do func(context.Context) (T, error)) (T, error) {
	var none T
	if l.answer != nil {
		select {
		case <-l.answer:
			l.answer = nil
		default:
			return none, errUnderWay
		}
	}
	answer := make(chan outcome[T], 1)
	l.answer = answer
	bounded, cancel := context.WithTimeout(ctx, patience)
	go func() {
		defer cancel()
		v, err := do(bounded)
		answer <- outcome[T]{v, err}
	}()
	// What honours its context answers a moment after it ended, and that answer says more than ours.
	timer := time.NewTimer(patience + patience/8)
	defer timer.Stop()
	select {
	case got := <-answer:
		l.answer = nil
		return got.value, got.err
	case <-timer.C:
		return none, context.DeadlineExceeded
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// waits reports whether a call has not come back, or its answer was not taken.
func (l *lane[T]) waits() bool { return l.answer != nil }

// late takes the answer of a call that was left hanging, and returns false while there is none.
func (l *lane[T]) late() (outcome[T], bool) {
	select {
	case got := <-l.answer: // nil, without a call, has nothing
		l.answer = nil
		return got, true
	default:
		return outcome[T]{}, false
	}
}

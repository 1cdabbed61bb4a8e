package operation

import (
	"context"
	"errors"

	"dedup-dashboard/internal/admin"
)

// Claim makes something live, audits the intent of what it does, and then has begin claim the plan and keep what carries it out. It returns the
// ID of what has the plan. Where that is the operation of the entry it is live, and whoever works on it retires it; else it is not.
func (s *Set[T]) Claim(ctx context.Context, gate *admin.Gate, e admin.Entry, one *T, begin func(context.Context) (holder string, err error)) (string, error) {
	ctx, cancel := admin.Writing(ctx)
	defer cancel()
	if !s.Enlist(e.Operation, one) {
		return "", admin.Unavailable("Nothing was done, because the dashboard is stopping")
	}
	claimed := false
	defer func() {
		if !claimed {
			s.Retire(e.Operation)
		}
	}()
	if err := gate.Intend(ctx, e); err != nil {
		return "", err
	}
	holder, err := begin(ctx)
	switch {
	case err != nil:
		gate.Finish(ctx, e, "", err)
		return "", err
	case holder != e.Operation:
		gate.Finish(ctx, e, "", admin.Conflict("The plan is carried out by %s %s", s.noun, holder))
		return holder, nil
	}
	claimed = true
	return holder, nil
}

// NotBegun is the error of a journal that did not keep what was to begin; nil when it did.
func NotBegun(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, admin.ErrTokenUsed):
		return admin.TokenUsed(err)
	}
	return admin.JournalError("Nothing was done, because the journal cannot be written", err)
}

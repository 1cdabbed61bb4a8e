package journal

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"dedup-dashboard/internal/admin"
)

// wholeEvery is how often a check reads the whole chain: pages ask for it at any time, and a long one takes seconds.
const wholeEvery = 10 * time.Minute

// checked is what a check found.
type checked struct {
	// at is when the whole chain was read last; zero while it never was.
	at time.Time
	// walk has come to the newest entry that was read.
	walk walk
	// broken says what did not fit; nil when all did.
	broken error
}

// Check checks the entries that came since the last check, and the whole chain if that was not read for a while. One check runs at a
// time, and what it holds is the newest hash alone. What was changed in an entry that was checked before shows with the next reading of
// the whole, here or by Verify.
func (a *Audit) Check(ctx context.Context) (admin.AuditState, error) {
	var known checked
	select {
	case known = <-a.checking:
	case <-ctx.Done():
		return admin.AuditState{}, unreadable(a.path, ctx.Err())
	}
	defer func() { a.checking <- known }()
	db, mine, cut, err := a.opened(ctx)
	if err != nil {
		return admin.AuditState{}, unreadable(a.path, err)
	}
	now := time.Now()
	fresh := !known.at.IsZero() && now.Sub(known.at) < wholeEvery
	if fresh && known.broken != nil {
		return stateAt(known.walk.state(), known.at), known.broken
	}
	next := checked{at: known.at, walk: known.walk}
	if !fresh || !next.walk.stands(ctx, db) {
		next = checked{at: now, walk: *newWalk(a.key, a.path)}
	}
	state, err := next.walk.goOn(ctx, db)
	if err = a.notCut(state, err, mine, cut); err == nil || errors.Is(err, admin.ErrBroken) {
		next.broken = err
		known = next
	}
	return stateAt(state, next.at), err
}

func stateAt(state admin.AuditState, at time.Time) admin.AuditState {
	state.Whole = at
	return state
}

// stands reports whether the entry to which the walk has come is still there as it was.
func (w *walk) stands(ctx context.Context, db *sql.DB) bool {
	if w.count == 0 {
		return true
	}
	var hash []byte
	err := db.QueryRowContext(ctx, "SELECT hash FROM audit WHERE number = ?", w.count).Scan(&hash)
	return err == nil && bytes.Equal(hash, w.head)
}

package admin

import (
	"context"

	"dedup-dashboard/internal/dedup"
)

// LiveReads is how many live readings for pages and plans are under way in one store, and how many for items that are
// carried out. The watching account has a handful of connections, and the passes over the store need theirs.
const LiveReads = 2

// A Turnstile lets a few through at once.
type Turnstile chan struct{}

// Enter waits for a turn. Each turn is given back by a leave.
func (t Turnstile) Enter(ctx context.Context, store string) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &dedup.Error{Kind: dedup.Unavailable, Public: "Store " + store + " is busy with other look-ups; try again in a moment", Err: ctx.Err()}
	}
}

// Leave gives a turn back.
func (t Turnstile) Leave() { <-t }

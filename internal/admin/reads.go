package admin

import (
	"context"
	"fmt"

	"dedup-dashboard/internal/dedup"
)

// liveReads is how many live readings for pages and plans are under way in one store, and how many for items that are
// carried out. The watching account has a handful of connections, and the passes over the store need theirs.
const liveReads = 2

// A turnstile lets a few through at once.
type turnstile chan struct{}

// enter waits for a turn. Each turn is given back by a leave.
func (t turnstile) enter(ctx context.Context, store string) error {
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

func (t turnstile) leave() { <-t }

// look reads markers for a page or a plan.
func look(ctx context.Context, st *MarkerStore, keys []string) ([]*dedup.Sighting, error) {
	return lookThrough(ctx, st, st.pages, keys)
}

// lookThrough reads markers at one of the store's turnstiles and makes sure that there is one answer per key.
func lookThrough(ctx context.Context, st *MarkerStore, t turnstile, keys []string) ([]*dedup.Sighting, error) {
	if err := t.enter(ctx, st.Name); err != nil {
		return nil, err
	}
	defer t.leave()
	seen, err := st.Reader.Look(ctx, keys)
	if err == nil && len(seen) != len(keys) {
		err = fmt.Errorf("%d answers to %d keys", len(seen), len(keys))
	}
	if err != nil {
		return nil, readable(st.Name, err)
	}
	return seen, nil
}

func browse(ctx context.Context, st *MarkerStore, q dedup.MarkerQuery) (dedup.MarkerPage, error) {
	if err := st.pages.enter(ctx, st.Name); err != nil {
		return dedup.MarkerPage{}, err
	}
	defer st.pages.leave()
	page, err := st.Reader.Browse(ctx, q)
	if err != nil {
		return dedup.MarkerPage{}, readable(st.Name, err)
	}
	return page, nil
}

// lookUp answers in time even when the reader does not; the reader keeps its turn until it has come to its end.
func lookUp(ctx context.Context, st *MarkerStore, term string) ([]dedup.Sighting, error) {
	if err := st.pages.enter(ctx, st.Name); err != nil {
		return nil, err
	}
	type reply struct {
		found []dedup.Sighting
		err   error
	}
	replies := make(chan reply, 1)
	go func() {
		defer st.pages.leave()
		found, err := st.Reader.Lookup(ctx, term)
		replies <- reply{found, err}
	}()
	var got reply
	select {
	case got = <-replies:
	case <-ctx.Done():
		got.err = ctx.Err()
	}
	if got.err != nil {
		return nil, readable(st.Name, got.err)
	}
	return got.found, nil
}

// readable puts an error of a reader into words, unless it is in words already.
func readable(store string, err error) error {
	if dedup.KindOf(err) != dedup.Internal {
		return err
	}
	return &dedup.Error{Kind: dedup.Unavailable, Public: "Store " + store + " did not answer in time or not as expected", Err: err}
}

package marker

import (
	"context"
	"fmt"
	"slices"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// look reads markers for a page or a plan.
func look(ctx context.Context, st *Store, keys []string) ([]*dedup.Sighting, error) {
	return lookThrough(ctx, st, st.pages, keys)
}

// lookThrough reads markers at one of the store's turnstiles and makes sure that there is one answer per key.
func lookThrough(ctx context.Context, st *Store, t admin.Turnstile, keys []string) ([]*dedup.Sighting, error) {
	if err := t.Enter(ctx, st.Name); err != nil {
		return nil, err
	}
	defer t.Leave()
	seen, err := st.Reader.Look(ctx, keys)
	if err == nil && len(seen) != len(keys) {
		err = fmt.Errorf("%d answers to %d keys", len(seen), len(keys))
	}
	if err != nil {
		return nil, admin.Readable(st.Name, err)
	}
	return seen, nil
}

func browse(ctx context.Context, st *Store, q dedup.MarkerQuery) (dedup.MarkerPage, error) {
	if err := st.pages.Enter(ctx, st.Name); err != nil {
		return dedup.MarkerPage{}, err
	}
	defer st.pages.Leave()
	page, err := st.Reader.Browse(ctx, q)
	if err != nil {
		return dedup.MarkerPage{}, admin.Readable(st.Name, err)
	}
	return page, nil
}

// lookUp answers in time even when the reader does not; the reader keeps its turn until it has come to its end.
func lookUp(ctx context.Context, st *Store, term string) ([]dedup.Sighting, error) {
	if err := st.pages.Enter(ctx, st.Name); err != nil {
		return nil, err
	}
	type reply struct {
		found []dedup.Sighting
		err   error
	}
	replies := make(chan reply, 1)
	go func() {
		defer st.pages.Leave()
		found, err := lookUpSpelled(ctx, st.Reader, term)
		replies <- reply{found, err}
	}()
	var got reply
	select {
	case got = <-replies:
	case <-ctx.Done():
		got.err = ctx.Err()
	}
	if got.err != nil {
		return nil, admin.Readable(st.Name, got.err)
	}
	return got.found, nil
}

// lookUpSpelled looks a term up as it is and, where it is a UUID of AMQP 1.0, in its other spelling.
func lookUpSpelled(ctx context.Context, r MarkerReader, term string) ([]dedup.Sighting, error) {
	var all []dedup.Sighting
	for _, spelled := range message.Spellings(term) {
		found, err := r.Lookup(ctx, spelled)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			if !slices.ContainsFunc(all, func(known dedup.Sighting) bool { return known.Key == s.Key }) {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

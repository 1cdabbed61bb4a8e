package marker

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

const (
	// readTimeout bounds one reading of a store for a page, lookupTimeout that of each store in a lookup.
	readTimeout   = 5 * time.Second
	lookupTimeout = 2 * time.Second
	maxKey        = 4096 // bytes of a key to look at
	maxPage       = 200
	maxHistory    = 50
)

// Browse returns a page of a store's markers, read live. Viewers may.
func (m *Markers) Browse(ctx context.Context, who admin.Caller, store string, q dedup.MarkerQuery) (BrowsePage, error) {
	if err := m.allow(ctx, who, auth.Viewer, "browse_markers", store); err != nil {
		return BrowsePage{}, err
	}
	st, err := m.stores.reading(store)
	if err != nil {
		return BrowsePage{}, err
	}
	if q.Limit < 1 || q.Limit > maxPage {
		return BrowsePage{}, admin.Invalid(fmt.Sprintf("A page has 1 to %d markers", maxPage))
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	page, err := browse(ctx, st, q)
	if err != nil {
		return BrowsePage{}, err
	}
	v := m.stores.view(store)
	out := BrowsePage{MarkerPage: page, Verdicts: make([]dedup.Verdict, len(page.Markers)), Reasons: make([][]string, len(page.Markers))}
	for i, mk := range page.Markers {
		out.Verdicts[i], out.Reasons[i] = m.stores.judge(v, st, mk, page.At)
		out.Markers[i] = v.dated(mk, st.Scheme)
	}
	return out, nil
}

// Look returns one marker as it is now. When there is none the error is of kind not found, and the Judged still holds the
// history. Viewers may; the history is for operators.
func (m *Markers) Look(ctx context.Context, who admin.Caller, store, key string) (Judged, error) {
	if err := m.allow(ctx, who, auth.Viewer, "look_at_marker", store); err != nil {
		return Judged{}, err
	}
	st, err := m.stores.reading(store)
	if err != nil {
		return Judged{}, err
	}
	if key == "" || len(key) > maxKey {
		return Judged{}, admin.Invalid(fmt.Sprintf("A key has 1 to %d bytes", maxKey))
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	seen, err := look(ctx, st, []string{key})
	if err != nil {
		return Judged{}, err
	}
	if seen[0] == nil {
		gone := Judged{Sighting: dedup.Sighting{Marker: dedup.Marker{Store: store, Key: key}}, History: m.history(ctx, who, store, key)}
		return gone, admin.NotFound("Store " + store + " holds no marker with this key")
	}
	j := m.judged(ctx, who, st, m.stores.view(store), *seen[0])
	if who.Can(auth.Operator) {
		j.UnderWay = m.underWay(ctx, store, key)
	}
	return j, nil
}

func (m *Markers) judged(ctx context.Context, who admin.Caller, st *Store, v view, s dedup.Sighting) Judged {
	j := Judged{Sighting: s, History: m.history(ctx, who, st.Name, s.Key)}
	j.Verdict, j.Reasons = m.stores.judge(v, st, s.Marker, s.At)
	j.Marker = v.dated(s.Marker, st.Scheme)
	return j
}

// history returns our actions on a marker, newest first; nil for viewers, and where the audit cannot be read.
func (m *Markers) history(ctx context.Context, who admin.Caller, store, key string) []admin.Entry {
	if !who.Can(auth.Operator) {
		return nil
	}
	entries, err := m.deps.Trail.Entries(ctx, admin.TrailQuery{Target: admin.MarkerTarget(store, key), Limit: maxHistory})
	if err != nil {
		m.deps.Log.Error("the history of a marker cannot be read", "store", store, "err", err)
	}
	return entries
}

// Lookup asks every store for a message id or business key at once. A store that does not answer within 2 s says so in its
// own answer and spoils no other. Viewers may.
func (m *Markers) Lookup(ctx context.Context, who admin.Caller, term string) (LookupResult, error) {
	if err := m.allow(ctx, who, auth.Viewer, "look_up", ""); err != nil {
		return LookupResult{}, err
	}
	if term == "" || len(term) > admin.MaxTerm {
		return LookupResult{}, admin.Invalid(fmt.Sprintf("A message id or business key to look up has 1 to %d bytes", admin.MaxTerm))
	}
	if !utf8.ValidString(term) {
		return LookupResult{}, admin.Invalid("A message id or business key to look up is valid UTF-8")
	}
	result := LookupResult{Term: term, At: m.deps.Now(), Stores: make([]LookupAnswer, len(m.deps.Stores))}
	var asked sync.WaitGroup
	for i := range m.deps.Stores {
		asked.Go(func() { result.Stores[i] = m.ask(ctx, who, &m.deps.Stores[i], term) })
	}
	asked.Wait()
	return result, nil
}

// ask looks a term up in one store. It answers in time even when the reader does not.
func (m *Markers) ask(ctx context.Context, who admin.Caller, st *Store, term string) LookupAnswer {
	answer := LookupAnswer{Store: st.Name, Scheme: st.Scheme}
	if st.Reader == nil {
		answer.Err = "This kind of store cannot be searched"
		return answer
	}
	bound, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	begun := time.Now()
	found, err := lookUp(bound, st, term)
	answer.Took = time.Since(begun)
	answer.Gone = m.gone(ctx, who, st, term, found)
	if err != nil {
		answer.Err = dedup.PublicText(err)
		return answer
	}
	v := m.stores.view(st.Name)
	for _, s := range found {
		answer.Found = append(answer.Found, m.judged(ctx, who, st, v, s))
	}
	return answer
}

// gone are the markers that a term would have and that were not found, though the audit tells of them.
func (m *Markers) gone(ctx context.Context, who admin.Caller, st *Store, term string, found []dedup.Sighting) []Gone {
	keys := message.Spellings(term)
	if of, ok := st.Reader.(keyer); ok {
		keys = nil
		for _, spelled := range message.Spellings(term) {
			keys = append(keys, of.KeysOf(spelled)...)
		}
	}
	var all []Gone
	for _, key := range keys {
		if slices.ContainsFunc(found, func(s dedup.Sighting) bool { return s.Key == key || s.Retry != nil && s.Retry.Key == key }) {
			continue
		}
		if history := m.history(ctx, who, st.Name, key); len(history) > 0 {
			all = append(all, Gone{Key: key, History: history})
		}
	}
	return all
}

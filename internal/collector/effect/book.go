package effect

import (
	"slices"
	"sort"
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const (
	// kept bounds the keys that are remembered, beside those of the newest answer.
	kept = 20_000
)

// An book tells new double effects from old ones: what the first run found is the baseline. It does no I/O.
type book struct {
	query  string
	first  time.Time
	checks []time.Time
	cutAt  time.Time
	took   time.Duration
	nulls  int64
	single int64
	known  map[string]dedup.EffectKey
	// order are the IDs that the newest run found, in the order of its answer; gone those that a complete answer lacked.
	order []string
	gone  map[string]bool
	// news are the keys that were ever found new, the newest first. dropped is when the newest key was found that had to make
	// room for others: of windows that hold it no full number is known.
	news    []dedup.EffectKey
	dropped time.Time
}

func newBook(query string) *book {
	return &book{query: query, known: map[string]dedup.EffectKey{}, gone: map[string]bool{}}
}

// restoreBook opens a book as it was recorded. A record of another query says nothing.
func restoreBook(query string, r dedup.EffectRecord) *book {
	b := newBook(query)
	if r.Query != query || r.First.IsZero() {
		return b
	}
	b.first, b.checks, b.cutAt, b.took, b.nulls, b.single = r.First, r.Checks, r.CutAt, r.Took, r.NullRows, r.SingleRows
	for _, id := range r.Gone {
		b.gone[id] = true
	}
	for i, k := range r.Known {
		b.known[k.ID] = k
		if i < r.Listed {
			b.order = append(b.order, k.ID)
		}
	}
	b.dropped = r.Dropped
	b.sortNews()
	return b
}

// record is what must outlive a restart.
func (b *book) record() dedup.EffectRecord {
	r := dedup.EffectRecord{Query: b.query, First: b.first, Checks: slices.Clone(b.checks), CutAt: b.cutAt, Took: b.took, NullRows: b.nulls, SingleRows: b.single, Dropped: b.dropped}
	present := make(map[string]bool, len(b.order))
	for _, id := range b.order {
		present[id] = true
		r.Known = append(r.Known, b.known[id])
	}
	r.Listed = len(r.Known)
	for id, k := range b.known {
		if !present[id] {
			r.Known = append(r.Known, k)
		}
		if b.gone[id] {
			r.Gone = append(r.Gone, id)
		}
	}
	return r
}

// last is when the newest run succeeded; zero when none did.
func (b *book) last() time.Time {
	if len(b.checks) == 0 {
		return time.Time{}
	}
	return b.checks[len(b.checks)-1]
}

// cut reports whether the newest answer was cut.
func (b *book) cut() bool { return !b.cutAt.IsZero() && b.cutAt.Equal(b.last()) }

// take adds a run that succeeded, and returns how many keys are new: found for the first time, found again after they had gone,
// or found with a higher count. After the first run, and after an answer that was cut, a key that is not known may be an old
// one; then it is not called new.
func (b *book) take(r dedup.EffectReading) (fresh int64) {
	complete := !b.first.IsZero() && !b.cut()
	if b.first.IsZero() {
		b.first = r.At
	}
	b.order = b.order[:0]
	found := make(map[string]bool, len(r.Keys))
	for _, k := range r.Keys {
		found[k.ID] = true
		b.order = append(b.order, k.ID)
		before, known := b.known[k.ID]
		k.Found = before.Found
		if known && (b.gone[k.ID] || k.Count > before.Count) || !known && complete {
			k.Found = r.At
			fresh++
		}
		if known && r.More {
			k.Count = max(k.Count, before.Count) // rows of the key may be behind the cut
		}
		b.known[k.ID] = k
		delete(b.gone, k.ID)
	}
	b.forget(found, r)
	b.makeRoom(found)
	b.sortNews()
	if r.More {
		b.cutAt = r.At
	}
	b.took, b.nulls, b.single = r.Took, r.NullRows, r.SingleRows
	b.checks = slices.DeleteFunc(b.checks, func(at time.Time) bool { return r.At.Sub(at) > finding.EffectsFresh || !at.Before(r.At) })
	b.checks = append(b.checks, r.At)
	return fresh
}

// forget drops the keys that a complete answer lacks, unless they are fresh: those still count as what happened today.
func (b *book) forget(found map[string]bool, r dedup.EffectReading) {
	for id, k := range b.known {
		switch {
		case found[id] || r.More:
		case r.At.Sub(k.Found) > finding.EffectsFresh:
			delete(b.known, id)
			delete(b.gone, id)
		default:
			b.gone[id] = true
		}
	}
}

// makeRoom drops the keys that were found first, as many as there are too many: an answer may bring others each time.
func (b *book) makeRoom(found map[string]bool) {
	if len(b.known) <= kept {
		return
	}
	var absent []dedup.EffectKey
	for id, k := range b.known {
		if !found[id] {
			absent = append(absent, k)
		}
	}
	newestFirst(absent)
	for _, k := range absent[max(len(absent)-(len(b.known)-kept), 0):] {
		if k.Found.After(b.dropped) {
			b.dropped = k.Found
		}
		delete(b.known, k.ID)
		delete(b.gone, k.ID)
	}
}

// sortNews is done once a run: the figures of all windows are read from it in each round.
func (b *book) sortNews() {
	b.news = b.news[:0]
	for _, k := range b.known {
		if !k.Found.IsZero() {
			b.news = append(b.news, k)
		}
	}
	newestFirst(b.news)
}

// since counts the keys that were found new after a time, and names at most five, the newest first.
func (b *book) since(from time.Time) (n int64, names []string) {
	const most = 5
	i := sort.Search(len(b.news), func(i int) bool { return !b.news[i].Found.After(from) })
	for _, k := range b.news[:min(i, most)] {
		names = append(names, k.Key)
	}
	return int64(i), names
}

// newestFirst sorts by when keys were found, and those of one run by their names.
func newestFirst(keys []dedup.EffectKey) {
	slices.SortStableFunc(keys, func(a, b dedup.EffectKey) int {
		if c := b.Found.Compare(a.Found); c != 0 || a.Found.IsZero() {
			return c
		}
		return compareKeys(a, b)
	})
}

func compareKeys(a, b dedup.EffectKey) int {
	switch {
	case a.Key < b.Key:
		return -1
	case a.Key > b.Key:
		return 1
	}
	return 0
}

// status is what the book knows at a time.
func (b *book) status(now time.Time) dedup.EffectCheck {
	s := dedup.EffectCheck{At: b.last(), Took: b.took, Since: b.first, Total: int64(len(b.order)), AtLeast: b.cut(), NullRows: b.nulls, SingleRows: b.single}
	for _, id := range b.order {
		k := b.known[id]
		if k.Found.IsZero() {
			s.Baseline++
		}
		s.Keys = append(s.Keys, k)
	}
	newestFirst(s.Keys)
	s.Fresh, s.FreshKeys = b.since(now.Add(-finding.EffectsFresh))
	s.FreshAtLeast = b.dropped.After(now.Add(-finding.EffectsFresh))
	return s
}

// figure counts the double effects of a window: the keys that runs found new since the oldest run in it.
func (b *book) figure(w, every time.Duration, now time.Time) dedup.Figure {
	f := dedup.Unknown(dedup.Count, "")
	f.Window, f.Source = w, figureSource
	f.Formula = "business keys that the effect check found new, or with a higher count, since the oldest run in the window"
	last, from := b.last(), time.Time{}
	for _, at := range b.checks {
		if from.IsZero() && !at.Before(now.Add(-w)) {
			from = at
		}
	}
	switch {
	case last.IsZero():
		f.Why = "the effect check has not run yet"
	case now.Sub(last) > source.StaleAfter*every:
		f.Why = "the last effect check that succeeded is " + text.Span(now.Sub(last)) + " old"
	case from.IsZero() || !from.Before(last):
		f.Why = "the window holds fewer than two runs of the effect check, which runs every " + text.Span(every)
		f.Better = "Look at a longer window, or let effect_check.every be shorter."
	default:
		n, _ := b.since(from)
		v := float64(n)
		f.Quality, f.Value, f.Low, f.High = dedup.Measured, v, v, v
		f.Covered, f.At = last.Sub(from), last
		if b.dropped.After(from) {
			f.AtLeast = true
			f.Why = "more keys were found new than are remembered"
		}
		if !b.cutAt.Before(from) {
			f.AtLeast = true
			f.Why = "the answer of the effect check was cut: what is behind the cut is not known"
		}
	}
	return f
}

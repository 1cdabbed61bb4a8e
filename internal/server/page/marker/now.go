package marker

import (
	"cmp"
	"time"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// present is what is there now of the markers on a page of an operation, by item.
type present struct {
	known map[int]*dedup.Sighting
	// missing says why it is not known; empty when it is, and while the operation runs.
	missing string
}

// present reads the markers of a page live. An operation that runs is not read: its page loads again every few seconds.
func (s *pages) present(r *web.Request, o marker.Operation, first, end int) present {
	p := present{known: map[int]*dedup.Sighting{}}
	if o.Ended.IsZero() || first == end {
		return p
	}
	service, err := s.service()
	if err != nil {
		p.missing = dedup.PublicText(err)
		return p
	}
	var keys []string
	for _, item := range o.Plan.Items[first:end] {
		keys = append(keys, item.Seen.Key)
	}
	now, err := service.Now(r.Context(), r.Asker(), o.Plan.Request.Store, keys)
	if err != nil {
		p.missing = "What is there now is not known: " + show.ErrorText(err)
		return p
	}
	for i, g := range now {
		p.known[first+i] = g
	}
	return p
}

// there reports whether an item has a marker now; false also when that is not known.
func (p present) there(item int) bool { return p.known[item] != nil }

// text says what is there now of an item: "done since 12:03:10", "no marker", "unknown"; empty when it was not asked for.
func (p present) text(item int, now time.Time) string {
	g, asked := p.known[item]
	switch {
	case p.missing != "":
		return "unknown"
	case !asked:
		return ""
	case g == nil:
		return "no marker"
	}
	text := string(g.State)
	if since := cmp.Or(g.Since, g.FirstSeen); !since.IsZero() {
		text += " since " + show.Moment(since.Add(-web.ClockOffset(*g)), now).Text
	}
	return text
}

// whyNoUndo says why nothing of an operation can be restored.
func whyNoUndo(again, over int) string {
	switch {
	case again > 0 && over > 0:
		return "Nothing is left to undo: " + show.Counted(again, "message") + " of it " + show.Plural(again, "has", "have") + " a marker again, and the others would have expired by now."
	case again > 0:
		return "Nothing is left to undo: " + show.Plural(again, "its message has", "each of its messages has") + " a marker again."
	case over > 0:
		return "Nothing is left to undo: what was cleared would have expired by now, or was kept for its 7 days."
	default:
		return "There is nothing to undo: no marker was cleared."
	}
}

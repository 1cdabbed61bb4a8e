package marker

import (
	"cmp"
	"strings"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/web"
)

// markersPerPage is how many markers a page of a list shows.
const markersPerPage = 50

// The lists that no pass keeps: they are read from the store when they are asked for.
const (
	doneList    = marker.List(dedup.Done)
	presentList = marker.List(dedup.Present)
	unknownList = marker.List(dedup.StateUnknown)
)

// markersQuery is the state of a page of markers that lives in its address.
type markersQuery struct {
	// state names a list: processing, failed, no-expiry, gave-up, done, present or unknown.
	state   marker.List
	verdict dedup.Verdict
	text    string
	// order is by age, expiry or id. The default is the oldest first.
	order list.Order
	page  int
	// cursor continues a live reading.
	cursor string
}

// markerLists are the lists of a page of markers, in the order of its tabs.
func markerLists() []marker.List {
	return []marker.List{
		marker.ProcessingList, marker.FailedList, marker.PermanentList, marker.GaveUpList,
		doneList, presentList, unknownList,
	}
}

// live reports whether the list is read from the store when it is asked for, rather than taken from the last pass.
func (q markersQuery) live() bool {
	return q.state == doneList || q.state == presentList || q.state == unknownList
}

func (q *markersQuery) params() []list.Param {
	return []list.Param{
		list.Choice("state", &q.state, marker.ProcessingList, markerLists()),
		list.Choice("verdict", &q.verdict, "", dedup.Verdicts()),
		list.Text("q", &q.text, web.MaxText),
		list.SortBy(&q.order, oldestFirst(), list.Keys(markerOrders())),
		list.PageNumber(&q.page),
		list.Func("cursor", func(s string) error {
			if len(s) > 4000 {
				return list.Bad("cursor", "is not one of ours")
			}
			q.cursor = s
			return nil
		}, func() string { return q.cursor }),
	}
}

func oldestFirst() list.Order { return list.Order{By: "age"} }

// markerOrders are what markers are sorted by. The order of a pass is by age already, with those that never expire first.
func markerOrders() []list.Column[web.JudgedMarker] {
	return []list.Column[web.JudgedMarker]{
		{Key: "age", Offered: oldestFirst(), Words: "oldest first", Rank: func(m web.JudgedMarker) list.Rank {
			if m.Since.IsZero() {
				return list.ByTime(m.FirstSeen)
			}
			return list.ByTime(m.Since)
		}},
		{Offered: list.Order{By: "age", Descending: true}, Words: "youngest first"},
		{Key: "expiry", Offered: list.Order{By: "expiry"}, Words: "expires soonest", Rank: func(m web.JudgedMarker) list.Rank { return list.ByTime(m.Expires) }},
		{Offered: list.Order{By: "expiry", Descending: true}, Words: "expires last"},
		{Key: "id", Offered: list.Order{By: "id"}, Words: "id", Rank: func(m web.JudgedMarker) list.Rank { return list.ByText(m.ID) }},
	}
}

// address is the page with this query.
func (q markersQuery) address(path string) string { return list.Address(path, q.params()...) }

func (q markersQuery) filtered() bool { return q.text != "" || q.verdict != "" }

// admits reports whether a marker passes the text filter: a part of the id or the business key, as it stands.
func (q markersQuery) admits(m dedup.Marker) bool {
	return q.text == "" || strings.Contains(m.ID, q.text) || strings.Contains(m.BusinessKey, q.text)
}

// sorted orders markers as the query says; what is unknown comes last, and equals go by id.
func (q markersQuery) sorted(all []web.JudgedMarker) []web.JudgedMarker {
	return list.Sorted(all, markerOrders(), q.order, func(a, b web.JudgedMarker) int { return cmp.Compare(a.ID, b.ID) })
}

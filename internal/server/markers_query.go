package server

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// markersPerPage is how many markers a page of a list shows.
const markersPerPage = 50

// markersQuery is the state of a page of markers that lives in its address.
type markersQuery struct {
	// state names a list: processing, failed, no-expiry, gave-up, done, present or unknown.
	state   string
	verdict dedup.Verdict
	text    string
	// sort is age, expiry or id; descending reverses it. The default is the oldest first.
	sort       string
	descending bool
	page       int
	// cursor continues a live reading.
	cursor string
}

// markerLists are the lists of a page of markers, in the order of its tabs.
func markerLists() []string {
	return []string{
		string(admin.ProcessingList), string(admin.FailedList), string(admin.PermanentList), string(admin.GaveUpList),
		string(dedup.Done), string(dedup.Present), string(dedup.StateUnknown),
	}
}

// live reports whether the list is read from the store when it is asked for, rather than taken from the last pass.
func (q markersQuery) live() bool {
	return q.state == string(dedup.Done) || q.state == string(dedup.Present) || q.state == string(dedup.StateUnknown)
}

// parseMarkersQuery reads the parameters of a page of markers. Unknown parameters are ignored; a bad value is an error that
// names its parameter.
func parseMarkersQuery(values url.Values) (markersQuery, error) {
	q := markersQuery{state: cmp.Or(values.Get("state"), string(admin.ProcessingList)), text: values.Get("q"), sort: "age", page: 1, cursor: values.Get("cursor")}
	if !slices.Contains(markerLists(), q.state) {
		return q, badParameter("state", "must be "+strings.Join(markerLists(), ", "))
	}
	if len(q.text) > textLimit {
		return q, badParameter("q", "is longer than 200 bytes")
	}
	if len(q.cursor) > 4000 {
		return q, badParameter("cursor", "is not one of ours")
	}
	if s := values.Get("verdict"); s != "" {
		q.verdict = dedup.Verdict(s)
		if !slices.Contains(dedup.Verdicts(), q.verdict) {
			return q, badParameter("verdict", "must be still working, probably dead, orphan, looping or cannot tell")
		}
	}
	if s := values.Get("sort"); s != "" {
		key := strings.TrimPrefix(s, "-")
		if key != "age" && key != "expiry" && key != "id" {
			return q, badParameter("sort", "must be age, expiry or id, with a - before it to reverse")
		}
		q.sort, q.descending = key, key != s
	}
	if s := values.Get("page"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 1_000_000 {
			return q, badParameter("page", "must be a whole number from 1")
		}
		q.page = n
	}
	return q, nil
}

// address writes the query back; defaults are left out.
func (q markersQuery) address(path string) string {
	v := url.Values{}
	if q.state != string(admin.ProcessingList) {
		v.Set("state", q.state)
	}
	if q.verdict != "" {
		v.Set("verdict", string(q.verdict))
	}
	if q.text != "" {
		v.Set("q", q.text)
	}
	if s := q.sortValue(); s != "age" {
		v.Set("sort", s)
	}
	if q.page > 1 {
		v.Set("page", strconv.Itoa(q.page))
	}
	if q.cursor != "" {
		v.Set("cursor", q.cursor)
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

func (q markersQuery) sortValue() string {
	if q.descending {
		return "-" + q.sort
	}
	return q.sort
}

func (q markersQuery) filtered() bool { return q.text != "" || q.verdict != "" }

// admits reports whether a marker passes the text filter: a part of the id or the business key, as it stands.
func (q markersQuery) admits(m dedup.Marker) bool {
	return q.text == "" || strings.Contains(m.ID, q.text) || strings.Contains(m.BusinessKey, q.text)
}

// sorted orders markers as the query says; what is unknown comes last, and equals go by id. The order of a pass is by age
// already, with those that never expire first.
func (q markersQuery) sorted(list []judgedMarker) {
	when := func(m judgedMarker) time.Time {
		if q.sort == "expiry" {
			return m.Expires
		}
		if m.Since.IsZero() {
			return m.FirstSeen
		}
		return m.Since
	}
	slices.SortStableFunc(list, func(a, b judgedMarker) int {
		if q.sort == "id" {
			return inOrder(cmp.Compare(a.ID, b.ID), q.descending)
		}
		x, y := when(a), when(b)
		unknown := cmp.Compare(rankUnknown(x.IsZero()), rankUnknown(y.IsZero()))
		return cmp.Or(unknown, inOrder(x.Compare(y), q.descending), cmp.Compare(a.ID, b.ID))
	})
}

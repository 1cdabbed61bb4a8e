package server

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

const (
	lettersPerPage = 50
	// groupsShown bounds the table of groups.
	groupsShown = 12
)

// deadQuery is the state of a page of a dead-letter queue that lives in its address.
type deadQuery struct {
	queue   string
	parking bool
	by      admin.GroupKey
	// text is the filter as it was written, filter what it means; wrong says why it means nothing.
	text   string
	filter admin.Filter
	wrong  string
	page   int
}

// parseDeadQuery reads the parameters of a page of a dead-letter queue. A filter that cannot be read is no error: the page says so
// beside the field. Its times are read in the zone of now.
func parseDeadQuery(values url.Values, now time.Time) (deadQuery, error) {
	q := deadQuery{queue: values.Get("queue"), parking: values.Get("parking") == "1", by: admin.GroupKey(cmp.Or(values.Get("by"), string(admin.ByReason))), text: values.Get("filter")}
	if len(q.queue) > maxRef {
		return q, badParameter("queue", "is longer than 255 bytes")
	}
	if !slices.Contains(admin.GroupKeys(), q.by) {
		return q, badParameter("by", "must be reason, source, route, exception, type or hour")
	}
	var err error
	if q.page, err = pageNumber(values); err != nil {
		return q, err
	}
	if q.filter, err = admin.ParseFilter(q.text, now); err != nil {
		q.wrong = endSentence(dedup.PublicText(err))
		q.text = clean(q.text, admin.MaxFilter)
	}
	return q, nil
}

// address writes the query back; defaults are left out.
func (q deadQuery) address(path string) string {
	v := url.Values{}
	if q.queue != "" {
		v.Set("queue", q.queue)
	}
	if q.parking {
		v.Set("parking", "1")
	}
	if q.by != admin.ByReason {
		v.Set("by", string(q.by))
	}
	if q.text != "" {
		v.Set("filter", q.text)
	}
	if q.page > 1 {
		v.Set("page", strconv.Itoa(q.page))
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// with returns the first page of the same queue under another filter.
func (q deadQuery) with(filter string) deadQuery {
	q.text, q.page = filter, 1
	return q
}

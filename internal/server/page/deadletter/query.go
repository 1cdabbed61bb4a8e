package deadletter

import (
	"net/url"
	"time"

	"dedup-dashboard/internal/admin/deadletter"

	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

const (
	lettersPerPage = 50
	// groupsShown bounds the table of groups.
	groupsShown = 12
)

// query is the state of a page of a dead-letter queue that lives in its address.
type query struct {
	queue   string
	parking bool
	by      deadletter.GroupKey
	// text is the filter as it was written, filter what it means; wrong says why it means nothing.
	text   string
	filter deadletter.Filter
	wrong  string
	page   int
	// bad says what else of the address cannot be read; nil where all can.
	bad error
}

func (q *query) params() []list.Param {
	return []list.Param{
		list.Text("queue", &q.queue, web.MaxRef), list.Flag("parking", &q.parking),
		list.Choice("by", &q.by, deadletter.ByReason, deadletter.GroupKeys()),
		list.Text("filter", &q.text, web.MaxHeaderBytes), list.PageNumber(&q.page),
	}
}

// parseDeadQuery reads the parameters of a page of a dead-letter queue, as far as they can be read: the page says what cannot. Times of the
// filter are read in the zone of now.
func parseDeadQuery(values url.Values, now time.Time) query {
	var q query
	q.bad = list.Read(values, q.params()...)
	var err error
	if q.filter, err = deadletter.ParseFilter(q.text, now); err != nil {
		q.wrong = show.ErrorText(err)
		q.text = show.Clean(q.text, deadletter.MaxFilter)
	}
	return q
}

// address is the page with this query.
func (q query) address(path string) string { return list.Address(path, q.params()...) }

// with returns the first page of the same queue under another filter.
func (q query) with(filter string) query {
	q.text, q.page = filter, 1
	return q
}

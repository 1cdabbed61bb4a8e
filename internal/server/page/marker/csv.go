package marker

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// The bounds of a table of markers that is read live, page by page; what they leave out, its last row says.
const (
	exportRows = 100_000
	exportFor  = time.Minute
	// exportPage is how many markers one reading of the store gives; the store bounds what it looks at for them.
	exportPage = 200
)

// markersCSV answers with a list of markers as a table, such as the messages that were lost, to be sent again by their
// producer. A pass keeps the oldest of a long list only: where the store can be asked for the list, it is read live then, and
// for the states that no pass lists.
func (s *pages) markersCSV(r *web.Request) (web.Response, error) {
	m, err := s.markersPage(r)
	if err = cmp.Or(err, m.wrong); err != nil {
		return nil, err
	}
	table := &markersTable{page: m, pages: s}
	if !m.q.live() {
		table.kept = m.selected()
	}
	return table, nil
}

// cut is how many markers the last pass counted in the list and did not keep.
func (m markersPage) cut(listed int) int64 { return max(0, m.total(m.q.state)-int64(listed)) }

// browsable reports whether a store can be asked for the list: it knows states, and neither who gave up nor what lacks an
// expiry.
func (m markersPage) browsable() bool {
	return m.q.state != marker.PermanentList && m.q.state != marker.GaveUpList
}

// csvLink is the address of the list as a table, and what the link says.
func (m markersPage) csvLink(listed int) (address, text string) {
	q := m.q
	q.page, q.cursor = 1, ""
	text = "Download as CSV"
	switch cut := m.cut(listed); {
	case cut > 0 && m.browsable() && m.total(m.q.state) > exportRows:
		text = "Download " + templates.Number(exportRows) + " as CSV, read live"
	case cut > 0 && m.browsable():
		text = "Download all as CSV, read live"
	case cut > 0:
		text = "Download the first " + templates.Number(listed) + " as CSV"
	}
	return q.address(m.path + ".csv"), text
}

// markersTable is a list of markers as CSV.
type markersTable struct {
	pages *pages
	page  markersPage
	// kept is what the last pass kept of the list.
	kept selected
}

func (t *markersTable) Write(w http.ResponseWriter, r *web.Request) error {
	m := t.page
	cut := m.cut(t.kept.listed)
	name := m.p.Pipeline.Name + "-" + string(m.q.state)
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", web.CSVType)
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if m.q.live() || cut > 0 && m.browsable() {
		done, err := t.writeLive(w, r, name)
		if done || m.q.live() {
			return err
		}
	}
	table := list.NewTable("", markerColumns(), t.kept.matching)
	if cut > 0 {
		name += "-first-" + strconv.Itoa(t.kept.listed)
		table.Notes = []string{show.Counted(cut, "more marker") + " " + show.Plural(cut, "is", "are") + " not listed: the last pass kept the oldest " + templates.Number(t.kept.listed)}
	}
	table.Filename = name + ".csv"
	return web.CSV{Table: table}.Write(w, r)
}

// writeLive reads the list from the store and writes it as it comes. It reports whether it has begun to answer; an error
// without that leaves the answer to the caller.
func (t *markersTable) writeLive(w http.ResponseWriter, r *web.Request, name string) (begun bool, err error) {
	service, err := t.pages.service()
	if err != nil {
		return false, err
	}
	select {
	case t.pages.exports <- struct{}{}:
		defer func() { <-t.pages.exports }()
	default:
		return false, &web.Error{Status: http.StatusServiceUnavailable, Kind: dedup.Unavailable, Heading: "Busy", Message: "Another list is being read from a store; try again in a minute", RetryAfter: time.Minute}
	}
	ctx, cancel := context.WithTimeout(r.Context(), exportFor)
	defer cancel()
	e := &export{table: t, service: service, r: r, seen: map[string]bool{}}
	first, err := e.read(ctx)
	if err != nil {
		return false, err
	}
	web.AttachAs(w, name+".csv")
	e.rc, e.out = http.NewResponseController(w), list.NewWriter(w, list.HeadsOf(markerColumns()))
	if err := e.send(first); err != nil {
		return true, err
	}
	return true, e.rest(ctx)
}

// export is a table in the making.
type export struct {
	table   *markersTable
	service Service
	r       *web.Request
	rc      *http.ResponseController
	out     *list.Writer
	cursor  string
	// seen are the keys that were written: the walk over a store may meet a marker twice.
	seen map[string]bool
}

// rest writes page after page, and a last row if something stops it before the end of the store.
func (e *export) rest(ctx context.Context) error {
	for e.cursor != "" {
		if len(e.seen) >= exportRows {
			return e.stop("cut after " + show.Counted(len(e.seen), "marker") + ": filter the list for the others")
		}
		rows, err := e.read(ctx)
		switch {
		case e.r.Context().Err() != nil:
			return &web.Gone{Err: e.r.Context().Err()}
		case ctx.Err() != nil:
			return e.stop("cut after " + templates.Span(exportFor) + ": the rest of the store was not looked at, so there may be more; filter the list or ask the store itself")
		case err != nil:
			return e.stop("cut here, there may be more: " + dedup.PublicText(err))
		}
		if err := e.send(rows); err != nil {
			return err
		}
	}
	return nil
}

func (e *export) stop(why string) error {
	e.out.Note(why)
	return e.send(nil)
}

// read returns the next page of the list.
func (e *export) read(ctx context.Context) ([]web.JudgedMarker, error) {
	m := e.table.page
	got, err := e.service.Browse(ctx, e.r.Asker(), m.p.Pipeline.Store, dedup.MarkerQuery{
		State: dedup.State(m.q.state), Match: m.q.text, Cursor: e.cursor, Limit: exportPage,
	})
	if err != nil {
		return nil, err
	}
	e.cursor = got.Next
	var rows []web.JudgedMarker
	for i, x := range got.Markers {
		j := web.JudgedMarker{Marker: e.table.pages.site.Masker.Masked(x, e.r.Who)}
		if i < len(got.Verdicts) {
			j.Verdict = got.Verdicts[i]
		}
		if e.seen[x.Key] && x.Key != "" || m.q.verdict != "" && j.Verdict != m.q.verdict {
			continue
		}
		e.seen[x.Key] = true
		rows = append(rows, j)
	}
	return rows, nil
}

// send writes rows and sees them on their way.
func (e *export) send(rows []web.JudgedMarker) error {
	if err := e.rc.SetWriteDeadline(time.Now().Add(web.ExportWrite)); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	for _, row := range rows {
		e.out.Row(list.Cells(markerColumns(), row))
	}
	if err := cmp.Or(e.out.Flush(), e.rc.Flush()); err != nil {
		return &web.Gone{Err: err}
	}
	return nil
}

func markerColumns() []list.Column[web.JudgedMarker] {
	return []list.Column[web.JudgedMarker]{
		{Head: "id", Cell: func(m web.JudgedMarker) string { return templates.Escape(m.ID) }},
		{Head: "business_key", Cell: func(m web.JudgedMarker) string { return templates.Escape(m.BusinessKey) }},
		{Head: "key", Cell: func(m web.JudgedMarker) string { return templates.Escape(m.Key) }},
		{Head: "state", Cell: func(m web.JudgedMarker) string { return templates.Escape(string(m.State)) }},
		{Head: "status", Cell: func(m web.JudgedMarker) string { return templates.Escape(m.Status) }},
		{Head: "verdict", Cell: func(m web.JudgedMarker) string { return string(m.Verdict) }},
		{Head: "since", Cell: func(m web.JudgedMarker) string { return list.Time(m.Since) }},
		{Head: "expires", Cell: func(m web.JudgedMarker) string { return list.Time(m.Expires) }},
		{Head: "failures", Cell: func(m web.JudgedMarker) string {
			if m.Attempts == nil {
				return ""
			}
			return list.Whole(*m.Attempts)
		}},
		{Head: "owner", Cell: func(m web.JudgedMarker) string { return templates.Escape(m.Owner) }},
		{Head: "detail", Cell: func(m web.JudgedMarker) string { return templates.Escape(m.Detail) }},
	}
}

package server

import (
	"iter"
	"net/http"
	"strconv"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/web/templates"
)

// scanAndFilter reads which letters of which scan are asked for.
func scanAndFilter(r *request) (scan string, filter admin.Filter, err error) {
	values := r.URL.Query()
	if scan = values.Get("scan"); scan == "" || len(scan) > maxRef {
		return "", filter, badParameter("scan", "must name one")
	}
	filter, err = admin.ParseFilter(values.Get("filter"), time.Now().In(zone(r)))
	return scan, filter, err
}

// lettersCSV answers with the business keys of the letters that a look found: whom to tell, and what to check elsewhere.
func (s *Server) lettersCSV(r *request) (response, error) {
	id, filter, err := scanAndFilter(r)
	if err != nil {
		return nil, err
	}
	service, err := s.letters()
	if err != nil {
		return nil, err
	}
	scan, err := service.Kept(r.Context(), r.asker(), id)
	if err != nil {
		return nil, scanGone(err)
	}
	rows := [][]string{{"id", "business_key", "class", "why", "marker", "reason", "source", "first_died", "last_died", "exception", "type", "bytes", "ref"}}
	for _, l := range scan.Letters {
		if !filter.Matches(l) {
			continue
		}
		rows = append(rows, letterCells(l, scan))
	}
	return csvBody{filename: "affected-keys-" + r.PathValue("name") + ".csv", rows: rows}, nil
}

func letterCells(l admin.Letter, scan admin.Scan) []string {
	business, reason, why := "", "", ""
	if l.Marker != nil {
		business = l.Marker.BusinessKey
	}
	if len(l.Deaths) > 0 {
		reason = l.Deaths[0].Reason
	}
	if len(l.Prediction.Reasons) > 0 {
		why = l.Prediction.Reasons[0]
	}
	source, _ := l.Source()
	marker, _ := markerWord(l, scan, "")
	cells := []string{l.ID, business, string(l.Prediction.Class), why, marker, reason, source, timeCell(l.FirstDied()), timeCell(l.LastDied()), l.Exception, l.MessageType(), strconv.Itoa(l.Size), l.Ref}
	for i := range cells {
		cells[i] = templates.Escape(cells[i])
	}
	return cells
}

// timeCell is a time in a cell of a table, empty when it is not known.
func timeCell(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// lettersNDJSON answers with whole letters, one a line: as they are for admins, masked for operators. It leaves an entry in the audit, which
// says that it failed when not all of them were sent.
func (s *Server) lettersNDJSON(r *request) (response, error) {
	id, filter, err := scanAndFilter(r)
	if err != nil {
		return nil, err
	}
	service, err := s.letters()
	if err != nil {
		return nil, err
	}
	if r.Method == http.MethodHead {
		return attachment{name: "dead-letters.ndjson", typ: ndjsonType}, nil
	}
	return lineStream{name: "dead-letters.ndjson", open: func(send func(iter.Seq[any]) error) error {
		return scanGone(service.Export(r.Context(), r.asker(), id, filter.String(), func(letters []admin.Letter) error {
			return send(func(yield func(any) bool) {
				for _, l := range letters {
					if !yield(s.masker.exportOf(r.Who, l)) {
						return
					}
				}
			})
		}))
	}}, nil
}

const ndjsonType = "application/x-ndjson; charset=utf-8"

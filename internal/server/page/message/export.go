package message

import (
	"iter"
	"net/http"

	"dedup-dashboard/internal/admin/deadletter"

	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// scanAndFilter reads which letters of which scan are asked for.
func scanAndFilter(r *web.Request) (scan string, filter deadletter.Filter, err error) {
	values := r.URL.Query()
	if scan = values.Get("scan"); scan == "" || len(scan) > web.MaxRef {
		return "", filter, list.Bad("scan", "must name one")
	}
	filter, err = deadletter.ParseFilter(values.Get("filter"), r.Now())
	return scan, filter, err
}

// lettersCSV answers with the business keys of the letters that a look found: whom to tell, and what to check elsewhere.
func (s pages) lettersCSV(r *web.Request) (web.Response, error) {
	id, filter, err := scanAndFilter(r)
	if err != nil {
		return nil, err
	}
	scan, err := s.letters.Kept(r.Context(), r.Asker(), id)
	if err != nil {
		return nil, scanGone(err)
	}
	var matching []deadletter.Letter
	for _, l := range scan.Letters {
		if filter.Matches(l) {
			matching = append(matching, l)
		}
	}
	return web.CSV{Table: list.NewTable("affected-keys-"+r.PathValue("name")+".csv", letterColumns(scan), matching)}, nil
}

func letterColumns(scan deadletter.Scan) []list.Column[deadletter.Letter] {
	column := func(head string, cell func(deadletter.Letter) string) list.Column[deadletter.Letter] {
		return list.Column[deadletter.Letter]{Head: head, Cell: func(l deadletter.Letter) string { return templates.Escape(cell(l)) }}
	}
	return []list.Column[deadletter.Letter]{
		column("id", func(l deadletter.Letter) string { return l.ID }),
		column("business_key", func(l deadletter.Letter) string {
			if l.Marker == nil {
				return ""
			}
			return l.Marker.BusinessKey
		}),
		column("class", func(l deadletter.Letter) string { return string(l.Prediction.Class) }),
		column("why", func(l deadletter.Letter) string {
			if len(l.Prediction.Reasons) == 0 {
				return ""
			}
			return l.Prediction.Reasons[0]
		}),
		column("marker", func(l deadletter.Letter) string { word, _ := letter.MarkerWord(l, scan, ""); return word }),
		column("reason", func(l deadletter.Letter) string {
			if len(l.Deaths) == 0 {
				return ""
			}
			return l.Deaths[0].Reason
		}),
		column("source", func(l deadletter.Letter) string { source, _ := l.Source(); return source }),
		column("first_died", func(l deadletter.Letter) string { return list.Seconds(l.FirstDied()) }),
		column("last_died", func(l deadletter.Letter) string { return list.Seconds(l.LastDied()) }),
		column("exception", func(l deadletter.Letter) string { return l.Exception }),
		column("type", deadletter.Letter.MessageType),
		column("bytes", func(l deadletter.Letter) string { return list.Whole(l.Size) }),
		column("ref", func(l deadletter.Letter) string { return l.Ref }),
	}
}

// lettersNDJSON answers with whole letters, one a line: as they are for admins, masked for operators. It leaves an entry in the audit, which
// says that it failed when not all of them were sent.
func (s pages) lettersNDJSON(r *web.Request) (web.Response, error) {
	id, filter, err := scanAndFilter(r)
	if err != nil {
		return nil, err
	}
	if r.Method == http.MethodHead {
		return web.Attachment{Name: "dead-letters.ndjson", Type: web.NDJSONType}, nil
	}
	return web.Lines{Name: "dead-letters.ndjson", Open: func(send func(iter.Seq[any]) error) error {
		return scanGone(s.letters.Export(r.Context(), r.Asker(), id, filter.String(), func(letters []deadletter.Letter) error {
			return send(func(yield func(any) bool) {
				for _, l := range letters {
					if !yield(exportOf(s.site.Masker, r.Who, l)) {
						return
					}
				}
			})
		}))
	}}, nil
}

package server

import (
	"net/http"
	"strconv"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
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

// letterExport is a letter with everything that is needed to send it again, one line of an export.
type letterExport struct {
	Ref         string           `json:"ref"`
	Queue       string           `json:"queue"`
	Vhost       string           `json:"vhost"`
	Exchange    string           `json:"exchange"`
	RoutingKey  string           `json:"routing_key"`
	ID          string           `json:"id"`
	Class       string           `json:"class"`
	Properties  propertiesJSON   `json:"properties"`
	Headers     map[string]typed `json:"headers"`
	Deaths      []pastDeathJSON  `json:"deaths"`
	Body        []byte           `json:"body_base64"`
	BodySHA256  string           `json:"body_sha256"`
	BodyMissing string           `json:"body_missing"`
}

type propertiesJSON struct {
	ContentType     string     `json:"content_type"`
	ContentEncoding string     `json:"content_encoding"`
	DeliveryMode    uint8      `json:"delivery_mode"`
	Priority        uint8      `json:"priority"`
	CorrelationID   string     `json:"correlation_id"`
	ReplyTo         string     `json:"reply_to"`
	Expiration      string     `json:"expiration"`
	MessageID       string     `json:"message_id"`
	Timestamp       *time.Time `json:"timestamp"`
	Type            string     `json:"type"`
	UserID          string     `json:"user_id"`
	AppID           string     `json:"app_id"`
}

type pastDeathJSON struct {
	Queue       string     `json:"queue"`
	Reason      string     `json:"reason"`
	Count       int64      `json:"count"`
	Time        *time.Time `json:"time"`
	Exchange    string     `json:"exchange"`
	RoutingKeys []string   `json:"routing_keys"`
}

// typed is the value of a header with the name of its AMQP type, without which it could not be sent as it was.
type typed struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

func exportOf(l admin.Letter) letterExport {
	e := letterExport{
		Ref: l.Ref, Queue: l.Queue.Name, Vhost: l.Queue.Vhost, Exchange: l.Exchange, RoutingKey: l.RoutingKey, ID: l.ID, Class: string(l.Prediction.Class),
		Properties: propertiesOf(l.Properties), Headers: map[string]typed{}, Deaths: historyOf(l), Body: l.Body, BodySHA256: l.Hash, BodyMissing: l.Hidden,
	}
	for name, v := range l.Headers {
		e.Headers[name] = typedOf(v)
	}
	return e
}

func propertiesOf(p dedup.Properties) propertiesJSON {
	return propertiesJSON{
		p.ContentType, p.ContentEncoding, p.DeliveryMode, p.Priority, p.CorrelationID, p.ReplyTo, p.Expiration, p.MessageID, timeOf(p.Timestamp), p.Type, p.UserID, p.AppID,
	}
}

func historyOf(l admin.Letter) []pastDeathJSON {
	deaths := []pastDeathJSON{}
	for _, d := range l.Deaths {
		deaths = append(deaths, pastDeathJSON{d.Queue, d.Reason, d.Count, timeOf(d.Time), d.Exchange, list(d.RoutingKeys)})
	}
	return deaths
}

func typedOf(v any) typed {
	switch v := v.(type) {
	case map[string]any:
		table := map[string]typed{}
		for name, x := range v {
			table[name] = typedOf(x)
		}
		return typed{"table", table}
	case []any:
		all := make([]typed, len(v))
		for i, x := range v {
			all[i] = typedOf(x)
		}
		return typed{"list", all}
	case float64:
		return typed{"float64", number(v)}
	case float32:
		return typed{"float32", number(float64(v))}
	default:
		typ, _ := headerText(v)
		return typed{typ, v}
	}
}

// lettersNDJSON answers with whole letters, one a line: as they are for admins, masked for operators. It leaves an entry in the audit.
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
	letters, err := service.Export(r.Context(), r.asker(), id, filter.String())
	if err != nil {
		return nil, scanGone(err)
	}
	return lineStream{name: "dead-letters.ndjson", lines: func(yield func(any) bool) {
		for _, l := range letters {
			if !yield(exportOf(l)) {
				return
			}
		}
	}}, nil
}

const ndjsonType = "application/x-ndjson; charset=utf-8"

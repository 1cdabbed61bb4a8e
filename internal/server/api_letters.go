package server

import (
	"net/http"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/web"
)

// deadQueueJSON is a dead-letter queue with the newest look at it that is kept.
type deadQueueJSON struct {
	Pipeline        string         `json:"pipeline"`
	Queue           string         `json:"queue"`
	Vhost           string         `json:"vhost"`
	Type            string         `json:"type"`
	Found           string         `json:"found"`
	Depth           api.FigureJSON `json:"depth"`
	Consumers       api.FigureJSON `json:"consumers"`
	WhyNoScan       string         `json:"why_no_scan"`
	WhyNotSelective string         `json:"why_not_selective"`
	WhyNoMove       string         `json:"why_no_move"`
	Effects         []string       `json:"effects_of_a_scan"`
	// WhyHidden says why only the counted figures are given: the role, or no access to single messages; empty when more are.
	WhyHidden string    `json:"why_hidden"`
	Job       string    `json:"job"`
	Scan      *scanJSON `json:"scan"`
}

type scanJSON struct {
	ID       string     `json:"id"`
	Queue    string     `json:"queue"`
	By       string     `json:"by"`
	At       *time.Time `json:"at"`
	Until    *time.Time `json:"until"`
	Took     float64    `json:"took_seconds"`
	Ready    int64      `json:"ready"`
	Scanned  int        `json:"scanned"`
	Matching int        `json:"matching"`
	// Filter is what selects the messages, its times with their offset.
	Filter      string         `json:"filter"`
	Short       string         `json:"short"`
	Effects     []string       `json:"effects"`
	StoreFailed string         `json:"store_failed"`
	Classes     map[string]int `json:"classes"`
	Groups      []groupJSON    `json:"groups"`
	Messages    []letterJSON   `json:"messages"`
	Page        int            `json:"page"`
	Pages       int            `json:"pages"`
}

type groupJSON struct {
	Value   string         `json:"value"`
	Filter  string         `json:"filter"`
	Count   int            `json:"count"`
	Bytes   int64          `json:"bytes"`
	First   *time.Time     `json:"first"`
	Last    *time.Time     `json:"last"`
	Classes map[string]int `json:"classes"`
}

// letterJSON is a dead letter in a list, without body and headers.
type letterJSON struct {
	Ref       string     `json:"ref"`
	ID        string     `json:"id"`
	NoID      string     `json:"no_id"`
	Reason    string     `json:"reason"`
	Source    string     `json:"source"`
	FirstDied *time.Time `json:"first_died"`
	LastDied  *time.Time `json:"last_died"`
	Exception string     `json:"exception"`
	Type      string     `json:"type"`
	Bytes     int        `json:"bytes"`
	Requeues  int        `json:"requeues"`
	// Foreign says why the headers of ours that it has are not believed; empty when they are.
	Foreign  string     `json:"requeues_not_believed"`
	Target   string     `json:"target"`
	NoTarget string     `json:"no_target"`
	Marker   string     `json:"marker"`
	Class    string     `json:"class"`
	Until    *time.Time `json:"until"`
	Reasons  []string   `json:"reasons"`
}

func classesOf(t preflight.Tally) map[string]int {
	m := map[string]int{}
	for _, c := range preflight.Classes() {
		m[string(c)] = t[c]
	}
	return m
}

func letterOf(l deadletter.Letter, scan deadletter.Scan) letterJSON {
	j := letterJSON{
		Ref: l.Ref, ID: l.ID, NoID: l.NoID, FirstDied: web.Time(l.FirstDied()), LastDied: web.Time(l.LastDied()), Exception: l.Exception, Type: l.MessageType(), Bytes: l.Size, Requeues: l.Requeues, Foreign: l.Foreign,
		Target: l.Target, NoTarget: l.NoTarget, Class: string(l.Prediction.Class), Until: web.Time(l.Prediction.Until), Reasons: web.OrEmpty(l.Prediction.Reasons),
	}
	j.Source, _ = l.Source()
	j.Marker, _ = markerWord(l, scan, "")
	if len(l.Deaths) > 0 {
		j.Reason = l.Deaths[0].Reason
	}
	return j
}

// apiDeadLetters gives a dead-letter queue, its newest look, and a page of the messages that match ?filter=.
func (s *Server) apiDeadLetters(r *web.Request) (web.Response, error) {
	d, err := s.deadQueuePage(r)
	if err != nil {
		return nil, err
	}
	if d.q.wrong != "" {
		return nil, list.Bad("filter", "cannot be read: "+d.q.wrong)
	}
	read := api.ReadingOf(d.snap, d.now)
	q := d.view.Queue
	j := deadQueueJSON{
		Pipeline: d.p.Pipeline.Name, Queue: q.Name, Vhost: q.Vhost, Type: q.Type, Found: q.Found, Depth: read.Figure(q.Depth), Consumers: read.Figure(q.Consumers),
		WhyNoScan: d.view.WhyNoScan, WhyNotSelective: d.view.WhyNotSelective, WhyNoMove: d.view.WhyNoMove, Effects: web.OrEmpty(d.view.Effects), Job: d.view.Job, WhyHidden: d.silent,
	}
	if d.view.Scan != nil {
		scan := d.scanJSON(*d.view.Scan)
		j.Scan = &scan
	}
	return web.JSON{Value: j}, nil
}

func (d deadQueuePage) scanJSON(scan deadletter.Scan) scanJSON {
	j := scanOf(scan)
	for _, g := range deadletter.GroupLetters(scan.Letters, d.q.by) {
		j.Groups = append(j.Groups, groupJSON{g.Value, g.Filter, g.Count, g.Bytes, web.Time(g.First), web.Time(g.Last), classesOf(g.Classes)})
	}
	matching := d.matching(scan)
	j.Matching, j.Page, j.Filter = len(matching), d.q.page, d.q.filter.String()
	_, at := list.Cut(matching, lettersPerPage, d.q.page)
	j.Pages = at.Of
	for _, l := range list.Page(matching, lettersPerPage, d.q.page) {
		j.Messages = append(j.Messages, letterOf(l, scan))
	}
	return j
}

func scanOf(scan deadletter.Scan) scanJSON {
	return scanJSON{
		ID: scan.ID, Queue: scan.Queue.Name, By: scan.By, At: web.Time(scan.At), Until: web.Time(scan.At.Add(deadletter.ScanLife)), Took: scan.Took.Seconds(), Ready: scan.Ready,
		Scanned: len(scan.Letters), Matching: len(scan.Letters), Short: scan.Short, Effects: web.OrEmpty(scan.Effects), StoreFailed: scan.StoreFailed, Classes: classesOf(scan.Classes),
		Groups: []groupJSON{}, Messages: []letterJSON{}, Page: 1, Pages: 1,
	}
}

// apiScan looks at the head of a dead-letter queue. It has side effects on the queue, which effects_of_a_scan tells before it.
func (s *Server) apiScan(r *web.Request) (web.Response, error) {
	var body struct {
		Queue   string `json:"queue"`
		Limit   int    `json:"limit"`
		Parking bool   `json:"parking"`
	}
	if err := web.ReadJSON(r, &body); err != nil {
		return nil, err
	}
	if body.Queue == "" || len(body.Queue) > web.MaxRef {
		return nil, list.Bad("queue", "must name one, with at most 255 bytes")
	}
	if body.Limit < 1 || body.Limit > deadletter.MaxScan {
		return nil, list.Bad("limit", "must be a whole number from 1 to 10,000")
	}
	service, err := s.letters()
	if err != nil {
		return nil, err
	}
	name, queue := r.PathValue("name"), body.Queue
	if body.Parking {
		if queue, err = s.parkingName(r, service, name, queue); err != nil {
			return nil, err
		}
	}
	scan, err := service.Scan(r.Context(), r.Asker(), deadletter.ScanRequest{Pipeline: name, Queue: queue, Limit: body.Limit})
	if err != nil {
		return nil, err
	}
	return web.JSON{Status: http.StatusCreated, Value: scanOf(scan)}, nil
}

// oneLetterJSON is one dead letter with its headers, and its body as far as the role may see it.
type oneLetterJSON struct {
	letterJSON
	Failure    string           `json:"failure"`
	Exchange   string           `json:"exchange"`
	RoutingKey string           `json:"routing_key"`
	Properties propertiesJSON   `json:"properties"`
	Headers    map[string]typed `json:"headers"`
	Deaths     []pastDeathJSON  `json:"deaths"`
	Malformed  string           `json:"malformed"`
	// NotUTF8 holds the bytes of what JSON cannot say of the texts above, by their names.
	NotUTF8 map[string][]byte `json:"not_utf8_base64,omitempty"`
	Body    []byte            `json:"body_base64"`
	bodyHashes
	Masked bool   `json:"masked"`
	Hidden string `json:"hidden"`
}

// apiLetter gives one dead letter of a scan, masked.
func (s *Server) apiLetter(r *web.Request) (web.Response, error) {
	query := r.URL.Query()
	scanID, ref := query.Get("scan"), query.Get("ref")
	if scanID == "" || ref == "" || len(scanID) > web.MaxRef || len(ref) > web.MaxRef {
		return nil, web.Invalid("Name a message as ?scan=ID&ref=REF")
	}
	service, err := s.letters()
	if err != nil {
		return nil, err
	}
	scan, err := service.Kept(r.Context(), r.Asker(), scanID)
	if err != nil {
		return nil, scanGone(err)
	}
	l, err := service.Letter(r.Context(), r.Asker(), scanID, ref)
	if err != nil {
		return nil, err
	}
	j := oneLetterJSON{
		letterJSON: letterOf(l, scan), Failure: l.Failure, Exchange: l.Exchange, RoutingKey: l.RoutingKey, Properties: propertiesOf(l.Properties), Headers: headersOf(l.Headers),
		Deaths: historyOf(l), NotUTF8: notUTF8(l), Malformed: l.Malformed, Body: l.Body, bodyHashes: bodyHashesOf(s.site.Masker, r.Who, l.Hash), Masked: l.Masked, Hidden: l.Hidden,
	}
	return web.JSON{Value: j}, nil
}

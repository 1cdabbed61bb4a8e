package deadletter

import (
	"net/http"
	"time"

	"dedup-dashboard/internal/admin/deadletter"

	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/web"
)

// queueJSON is a dead-letter queue with the newest look at it that is kept.
type queueJSON struct {
	Pipeline        string         `json:"pipeline"`
	Queue           string         `json:"queue"`
	Vhost           string         `json:"vhost"`
	Type            string         `json:"type"`
	Found           string         `json:"found"`
	Depth           web.FigureJSON `json:"depth"`
	Consumers       web.FigureJSON `json:"consumers"`
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
	Messages    []letter.JSON  `json:"messages"`
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

// apiDeadLetters gives a dead-letter queue, its newest look, and a page of the messages that match ?filter=.
func (s pages) apiDeadLetters(r *web.Request) (web.Response, error) {
	d, err := s.queuePage(r)
	if err != nil {
		return nil, err
	}
	if d.q.bad != nil {
		return nil, d.q.bad
	}
	if d.q.wrong != "" {
		return nil, list.Bad("filter", "cannot be read: "+d.q.wrong)
	}
	read := web.ReadingOf(d.snap, d.now)
	q := d.view.Queue
	j := queueJSON{
		Pipeline: d.p.Pipeline.Name, Queue: q.Name, Vhost: q.Vhost, Type: q.Type, Found: q.Found, Depth: read.Figure(q.Depth), Consumers: read.Figure(q.Consumers),
		WhyNoScan: d.view.WhyNoScan, WhyNotSelective: d.view.WhyNotSelective, WhyNoMove: d.view.WhyNoMove, Effects: web.OrEmpty(d.view.Effects), Job: d.view.Job, WhyHidden: d.silent,
	}
	if d.view.Scan != nil {
		scan := d.scanJSON(*d.view.Scan)
		j.Scan = &scan
	}
	return web.JSON{Value: j}, nil
}

func (d queuePage) scanJSON(scan deadletter.Scan) scanJSON {
	j := scanOf(scan)
	for _, g := range deadletter.GroupLetters(scan.Letters, d.q.by) {
		j.Groups = append(j.Groups, groupJSON{g.Value, g.Filter, g.Count, g.Bytes, web.Time(g.First), web.Time(g.Last), letter.ClassesOf(g.Classes)})
	}
	matching := d.matching(scan)
	j.Matching, j.Page, j.Filter = len(matching), d.q.page, d.q.filter.String()
	_, at := list.Cut(matching, lettersPerPage, d.q.page)
	j.Pages = at.Of
	for _, l := range list.Page(matching, lettersPerPage, d.q.page) {
		j.Messages = append(j.Messages, letter.JSONOf(l, scan))
	}
	return j
}

func scanOf(scan deadletter.Scan) scanJSON {
	return scanJSON{
		ID: scan.ID, Queue: scan.Queue.Name, By: scan.By, At: web.Time(scan.At), Until: web.Time(scan.At.Add(deadletter.ScanLife)), Took: scan.Took.Seconds(), Ready: scan.Ready,
		Scanned: len(scan.Letters), Matching: len(scan.Letters), Short: scan.Short, Effects: web.OrEmpty(scan.Effects), StoreFailed: scan.StoreFailed, Classes: letter.ClassesOf(scan.Classes),
		Groups: []groupJSON{}, Messages: []letter.JSON{}, Page: 1, Pages: 1,
	}
}

// apiScan looks at the head of a dead-letter queue. It has side effects on the queue, which effects_of_a_scan tells before it.
func (s pages) apiScan(r *web.Request) (web.Response, error) {
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
	service, err := s.service()
	if err != nil {
		return nil, err
	}
	name, queue := r.PathValue("name"), body.Queue
	if body.Parking {
		if queue, err = parkingName(r, service, name, queue); err != nil {
			return nil, err
		}
	}
	scan, err := service.Scan(r.Context(), r.Asker(), deadletter.ScanRequest{Pipeline: name, Queue: queue, Limit: body.Limit})
	if err != nil {
		return nil, err
	}
	return web.JSON{Status: http.StatusCreated, Value: scanOf(scan)}, nil
}

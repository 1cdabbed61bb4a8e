package move

import (
	"net/http"
	"slices"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/web"
)

// requestJSON asks for the plan of a move. Refs, Filter and Whole exclude one another.
type requestJSON struct {
	// Do is requeue, discard or restore_letters.
	Do       string            `json:"do"`
	Pipeline string            `json:"pipeline"`
	Queue    string            `json:"queue"`
	Scan     string            `json:"scan"`
	Refs     []string          `json:"refs"`
	Filter   string            `json:"filter"`
	Whole    bool              `json:"whole"`
	Choices  map[string]string `json:"choices"`
	Canary   int               `json:"canary"`
	Rate     float64           `json:"rate_per_second"`
	// Most is the most messages to move; 0 for all that are selected.
	Most int64 `json:"most"`
	// Target is the queue of the pipeline to which a requeue sends messages that do not say where they came from; without it they stay.
	Target string `json:"target"`
}

// request is what is asked for. Times in its filter are read in the zone of now.
func (m requestJSON) request(now time.Time) (move.Request, error) {
	filter, err := deadletter.ParseFilter(m.Filter, now)
	if err != nil {
		return move.Request{}, err
	}
	req := move.Request{
		Do: admin.Move(m.Do), Pipeline: m.Pipeline, Queue: m.Queue, Scan: m.Scan, Refs: m.Refs, Filter: filter.String(), Whole: m.Whole, Choices: map[preflight.Class]preflight.Choice{}, Canary: m.Canary, Rate: m.Rate, Most: m.Most,
		Target: m.Target,
	}
	switch {
	case req.Target != "" && req.Do != admin.Requeue:
		return req, list.Bad("target", "is of a requeue alone")
	case len(req.Target) > web.MaxRef:
		return req, list.Bad("target", "must be a queue, with at most 255 bytes")
	}
	if !slices.Contains([]admin.Move{admin.Requeue, admin.Discard, admin.RestoreLetters}, req.Do) {
		return req, list.Bad("do", "must be requeue, discard or restore_letters")
	}
	for class, choice := range m.Choices {
		if !slices.Contains(preflight.Classes(), preflight.Class(class)) {
			return req, list.Bad("choices", "must have classes as names: runs, last_attempt, may_run_twice, skipped, swallowed_perhaps, swallowed, blocks, unknown")
		}
		if !slices.Contains([]preflight.Choice{preflight.KeepAsIs, preflight.ClearFirst, preflight.LeaveOut}, preflight.Choice(choice)) {
			return req, list.Bad("choices", "must be keep, clear_first or leave_out")
		}
		req.Choices[preflight.Class(class)] = preflight.Choice(choice)
	}
	return req, nil
}

// planJSON is the plan of a move.
type planJSON struct {
	ID       string     `json:"id"`
	Made     *time.Time `json:"made"`
	Until    *time.Time `json:"until"`
	By       string     `json:"by"`
	Do       string     `json:"do"`
	Sentence string     `json:"sentence"`
	Pipeline string     `json:"pipeline"`
	Broker   string     `json:"broker"`
	Source   string     `json:"source"`
	Parking  string     `json:"parking"`
	// Filter selects the messages, its times with their offset; empty where no filter was asked for.
	Filter string `json:"filter"`
	// Target is where those go that do not say where they came from; empty where they stay.
	Target    string            `json:"target"`
	Ready     int64             `json:"ready"`
	Scanned   int               `json:"scanned"`
	ScannedAt *time.Time        `json:"scanned_at"`
	Matching  int               `json:"matching"`
	Targets   map[string]int    `json:"targets"`
	Classes   map[string]int    `json:"classes"`
	Choices   map[string]string `json:"choices"`
	Canary    int               `json:"canary"`
	Rate      float64           `json:"rate_per_second"`
	Guards    []guardJSON       `json:"guards"`
	Confirm   string            `json:"confirm"`
	// Nowhere and Worn count those that stay whatever is chosen, MayRepeat those that go and may run a second time.
	// Beyond counts those behind the most messages that are moved: they are in no class.
	Nowhere   int  `json:"nowhere"`
	Beyond    int  `json:"beyond_most"`
	Worn      int  `json:"requeued_too_often"`
	MayRepeat int  `json:"may_repeat"`
	MayLeave  bool `json:"may_leave_out"`
	// Needs is the role that may carry it out, Most the most messages that it moves, 0 for all that are selected; UpTo how many that
	// can be, and Fits how many there is room for, null where nothing speaks against their number.
	Needs    string              `json:"needs"`
	Most     int64               `json:"most"`
	UpTo     int64               `json:"up_to"`
	Fits     *int64              `json:"fits"`
	Takes    float64             `json:"takes_seconds"`
	Messages []plannedLetterJSON `json:"messages"`
}

type guardJSON struct {
	Text     string `json:"text"`
	Blocking bool   `json:"blocking"`
	Fits     *int64 `json:"fits"`
}

type plannedLetterJSON struct {
	Ref         string `json:"ref"`
	ID          string `json:"id"`
	BusinessKey string `json:"business_key"`
	Target      string `json:"target"`
	Bytes       int    `json:"bytes"`
	// Expected is when it is consumed if the plan is started at once, and what its class is foretold for; null of a move that no consumer sees.
	Expected *time.Time `json:"expected"`
	Class    string     `json:"class"`
	Until    *time.Time `json:"until"`
	Reasons  []string   `json:"reasons"`
	Choice   string     `json:"choice"`
	// MayRepeat is true where clearing its marker first may have its work done a second time; Stays says why it stays whatever is chosen.
	MayRepeat bool   `json:"may_repeat"`
	Stays     string `json:"stays"`
}

func moveOf(p move.Plan) planJSON {
	j := planJSON{
		ID: p.ID, Made: web.Time(p.Made), Until: web.Time(p.Made.Add(admin.PlanLife)), By: p.By, Do: string(p.Request.Do), Sentence: letter.Sentence(p), Pipeline: p.Request.Pipeline,
		Broker: p.Broker, Source: p.Source.Name, Parking: p.Parking, Filter: p.Request.Filter, Target: p.Request.Target, Ready: p.Ready, Scanned: p.Scanned, ScannedAt: web.Time(p.ScannedAt), Matching: p.Matching, Targets: p.Targets,
		Classes: letter.ClassesOf(p.Classes), Choices: map[string]string{}, Canary: p.Request.Canary, Rate: p.Request.Rate, Guards: []guardJSON{}, Confirm: p.Confirm, Needs: p.Needs.String(), Most: p.Most, Takes: p.Takes.Seconds(), Messages: []plannedLetterJSON{},
		Nowhere: p.Nowhere, Beyond: p.Beyond, Worn: p.Worn, MayRepeat: p.MayRepeat, MayLeave: p.MayLeave, UpTo: p.UpTo,
	}
	if n, known := p.Fits(); known {
		j.Fits = &n
	}
	if j.Targets == nil {
		j.Targets = map[string]int{}
	}
	for class, choice := range p.Choices {
		j.Choices[string(class)] = string(choice)
	}
	for _, g := range p.Guards {
		j.Guards = append(j.Guards, guardJSON{g.Text, g.Blocking, g.Fits})
	}
	for _, l := range p.Letters {
		j.Messages = append(j.Messages, plannedLetterJSON{
			l.Ref, l.ID, l.BusinessKey, l.Target, l.Bytes, web.Time(l.Expected), string(l.Prediction.Class), web.Time(l.Prediction.Until), web.OrEmpty(l.Prediction.Reasons), string(l.Choice), l.Prediction.MayRepeat, l.Stays,
		})
	}
	return j
}

// apiPlanMove makes the plan of a move. It moves nothing.
func (s pages) apiPlanMove(r *web.Request) (web.Response, error) {
	var body requestJSON
	if err := web.ReadJSON(r, &body); err != nil {
		return nil, err
	}
	req, err := body.request(r.Now())
	if err != nil {
		return nil, err
	}
	plan, err := s.letters.PlanMove(r.Context(), r.Asker(), req)
	if err != nil {
		return nil, err
	}
	return web.JSON{Status: http.StatusCreated, Value: moveOf(plan)}, nil
}

// apiStartMove carries a plan out and answers at once with the job. The header Idempotency-Key makes a repeated request harmless.
func (s pages) apiStartMove(r *web.Request) (web.Response, error) {
	body, err := web.ReadStart(r)
	if err != nil {
		return nil, err
	}
	id, err := s.letters.StartJob(r.Context(), r.Asker(), jobs.StartRequest{PlanID: r.PathValue("id"), Reason: body.Reason, Confirm: body.Confirm, Token: body.Token})
	if err != nil {
		return nil, err
	}
	return web.JSON{Status: http.StatusAccepted, Value: map[string]string{"job": id, "href": s.site.Base + "/api/v1/jobs/" + id}}, nil
}

package marker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/web"
)

// planRequestJSON asks for a plan. Keys, KeysBase64, Filter and Operation exclude one another, but keys may be given both ways.
type planRequestJSON struct {
	// Deed is clear, set_expiry or restore.
	Deed       string       `json:"deed"`
	Store      string       `json:"store"`
	Keys       []string     `json:"keys"`
	KeysBase64 [][]byte     `json:"keys_base64"`
	Filter     *filterJSON  `json:"filter"`
	Operation  string       `json:"operation"`
	Items      []int        `json:"items"`
	AlsoRetry  bool         `json:"also_retry"`
	TTL        *json.Number `json:"ttl_seconds"`
}

type filterJSON struct {
	// List is processing, failed, no-expiry or gave-up.
	List    string `json:"list"`
	Verdict string `json:"verdict"`
	Match   string `json:"match"`
}

func (p planRequestJSON) request() (marker.PlanRequest, error) {
	req := marker.PlanRequest{Deed: admin.Deed(p.Deed), Store: p.Store, Keys: p.Keys, Operation: p.Operation, Items: p.Items, AlsoRetry: p.AlsoRetry}
	for _, key := range p.KeysBase64 {
		req.Keys = append(req.Keys, string(key))
	}
	if p.Filter != nil {
		req.Filter = &marker.MarkerFilter{List: marker.List(p.Filter.List), Verdict: dedup.Verdict(p.Filter.Verdict), Match: p.Filter.Match}
	}
	if p.TTL != nil {
		seconds, err := p.TTL.Float64()
		if err != nil || seconds <= 0 || seconds > 1e9 {
			return req, list.Bad("ttl_seconds", "must be a number of seconds above 0; leave it out for what is recommended")
		}
		req.TTL = time.Duration(seconds * float64(time.Second))
	}
	return req, nil
}

// planJSON is a plan.
type planJSON struct {
	ID        string         `json:"id"`
	Made      *time.Time     `json:"made"`
	Until     *time.Time     `json:"until"`
	By        string         `json:"by"`
	Deed      string         `json:"deed"`
	Store     string         `json:"store"`
	Sentence  string         `json:"sentence"`
	Items     []planItemJSON `json:"items"`
	LeftOut   []leftOutJSON  `json:"left_out"`
	Truncated int            `json:"truncated"`
	Undecoded int            `json:"undecoded"`
	Confirm   string         `json:"confirm"`
	Takes     float64        `json:"takes_seconds"`
}

type planItemJSON struct {
	markerJSON
	Effect string `json:"effect"`
	Hash   string `json:"value_sha256"`
	Size   int64  `json:"value_bytes"`
	// TTL is the time to live that setting an expiry gives the marker; null for other deeds.
	TTL *float64 `json:"ttl_seconds"`
}

type leftOutJSON struct {
	ID  string `json:"id"`
	Key string `json:"key"`
	Why string `json:"why"`
}

func planOf(p marker.Plan) planJSON {
	j := planJSON{
		ID: p.ID, Made: web.Time(p.Made), Until: web.Time(p.Made.Add(admin.PlanLife)), By: p.By, Deed: string(p.Request.Deed), Store: p.Request.Store,
		Sentence: planSentence(p), Items: []planItemJSON{}, LeftOut: []leftOutJSON{}, Truncated: p.Truncated, Undecoded: p.Undecoded, Confirm: p.Confirm, Takes: p.Takes.Seconds(),
	}
	for _, item := range p.Items {
		j.Items = append(j.Items, planItemJSON{
			markerOf(web.JudgedMarker{Marker: item.Seen.Marker, Verdict: item.Verdict, Reasons: item.Reasons}), item.Effect, item.Hash, item.Size, ttlSeconds(item.TTL),
		})
	}
	for _, l := range p.LeftOut {
		j.LeftOut = append(j.LeftOut, leftOutJSON{l.ID, l.Key, l.Why})
	}
	return j
}

func ttlSeconds(ttl time.Duration) *float64 {
	if ttl == 0 {
		return nil
	}
	seconds := ttl.Seconds()
	return &seconds
}

// apiPlan makes a plan. It changes nothing.
func (s *pages) apiPlan(r *web.Request) (web.Response, error) {
	var body planRequestJSON
	if err := web.ReadJSON(r, &body); err != nil {
		return nil, err
	}
	req, err := body.request()
	if err != nil {
		return nil, err
	}
	plan, err := s.deps.Markers.Plan(r.Context(), r.Asker(), req)
	if err != nil {
		return nil, err
	}
	return web.JSON{Status: http.StatusCreated, Value: planOf(plan)}, nil
}

// apiExecute carries a plan out and answers at once with the operation. The header Idempotency-Key makes a repeated request
// harmless.
func (s *pages) apiExecute(r *web.Request) (web.Response, error) {
	body, err := web.ReadStart(r)
	if err != nil {
		return nil, err
	}
	id, err := s.deps.Markers.Execute(r.Context(), r.Asker(), marker.ExecuteRequest{PlanID: r.PathValue("id"), Reason: body.Reason, Confirm: body.Confirm, Token: body.Token})
	if err != nil {
		return nil, err
	}
	return web.JSON{Status: http.StatusAccepted, Value: map[string]string{"operation": id, "href": s.site.Base + "/api/v1/operations/" + id}}, nil
}

// operationJSON is an operation with what became of each item.
type operationJSON struct {
	ID          string         `json:"id"`
	Deed        string         `json:"deed"`
	Store       string         `json:"store"`
	By          string         `json:"by"`
	Reason      string         `json:"reason"`
	Started     *time.Time     `json:"started"`
	Ended       *time.Time     `json:"ended"`
	Interrupted bool           `json:"interrupted"`
	Stopped     string         `json:"stopped"`
	Undone      string         `json:"undone_by"`
	Totals      map[string]int `json:"totals"`
	Items       []outcomeJSON  `json:"items"`
}

type outcomeJSON struct {
	ID  string `json:"id"`
	Key string `json:"key"`
	// Result is empty while the item was not tried.
	Result     string     `json:"result"`
	Text       string     `json:"text"`
	At         *time.Time `json:"at"`
	Restorable *time.Time `json:"restorable_until"`
}

// apiOperation gives an operation.
func (s *pages) apiOperation(r *web.Request) (web.Response, error) {
	o, err := s.deps.Markers.Operation(r.Context(), r.Asker(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	j := operationJSON{
		ID: o.ID, Deed: string(o.Plan.Request.Deed), Store: o.Plan.Request.Store, By: o.By, Reason: o.Reason, Started: web.Time(o.Started), Ended: web.Time(o.Ended),
		Interrupted: o.Interrupted, Stopped: o.Stopped, Undone: o.Undone, Totals: map[string]int{}, Items: []outcomeJSON{},
	}
	byItem := map[int]marker.ItemOutcome{}
	for _, out := range o.Outcomes {
		byItem[out.Item] = out
	}
	for i, item := range o.Plan.Items {
		out := byItem[i]
		j.Items = append(j.Items, outcomeJSON{
			item.Seen.ID, item.Seen.Key, string(out.Outcome.Result), out.Outcome.Text, web.Time(out.At), web.Time(out.Restorable),
		})
		if out.Outcome.Result != "" {
			j.Totals[fmt.Sprint(out.Outcome.Result)]++
		}
	}
	return web.JSON{Value: j}, nil
}

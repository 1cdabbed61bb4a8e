package measurement

import (
	"net/http"
	"net/url"
	"time"

	"dedup-dashboard/internal/admin/measuring"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/web"
)

// startJSON asks to measure.
type startJSON struct {
	Seconds float64 `json:"seconds"`
}

// JSON is a measurement. Result is null until there is one, Calibration where nothing is known to compare with.
type JSON struct {
	ID          string           `json:"id"`
	Href        string           `json:"href"`
	Pipeline    string           `json:"pipeline"`
	Broker      string           `json:"broker"`
	Vhost       string           `json:"vhost"`
	Queues      []string         `json:"queues"`
	By          string           `json:"by"`
	Started     *time.Time       `json:"started"`
	Began       *time.Time       `json:"tracing_began"`
	Ended       *time.Time       `json:"ended"`
	Seconds     float64          `json:"seconds"`
	State       string           `json:"state"`
	Final       bool             `json:"final"`
	Why         string           `json:"why"`
	Commands    []string         `json:"commands"`
	Seen        int64            `json:"deliveries_seen"`
	Result      *measuredJSON    `json:"result"`
	Calibration *calibrationJSON `json:"calibration"`
}

// measuredJSON is what came of a measurement. Rates are ratios, times in seconds.
type measuredJSON struct {
	Began       *time.Time       `json:"tracing_began"`
	Ended       *time.Time       `json:"tracing_ended"`
	Traced      float64          `json:"deliveries_traced"`
	Counted     float64          `json:"deliveries_counted"`
	Messages    int64            `json:"messages"`
	Duplicates  int64            `json:"duplicates"`
	AtMost      bool             `json:"at_most"`
	Value       float64          `json:"value"`
	Low         float64          `json:"low"`
	High        float64          `json:"high"`
	SampleLow   float64          `json:"sampling_low"`
	SampleHigh  float64          `json:"sampling_high"`
	Sent        int64            `json:"producer_sent"`
	Redelivered int64            `json:"redelivered"`
	InFlight    int64            `json:"in_flight_hits"`
	Swallowed   int64            `json:"swallowed"`
	Failures    int64            `json:"failures"`
	Retries     int64            `json:"retries"`
	Doubled     int64            `json:"done_twice"`
	Unsettled   int64            `json:"unsettled"`
	NoID        int64            `json:"without_id"`
	Events      bool             `json:"store_events"`
	Latency     *latencyJSON     `json:"ack_latency"`
	LatencyWhy  string           `json:"ack_latency_why"`
	Origins     []originJSON     `json:"origins"`
	RepeatedIDs int64            `json:"repeated_ids"`
	Repeated    []repeatedIDJSON `json:"repeated"`
}

type latencyJSON struct {
	N          int64     `json:"n"`
	Mean       float64   `json:"mean_seconds"`
	P50        float64   `json:"p50_seconds"`
	P95        float64   `json:"p95_seconds"`
	P99        float64   `json:"p99_seconds"`
	Resolution float64   `json:"resolution_seconds"`
	Bounds     []float64 `json:"bounds_seconds"`
	Counts     []int64   `json:"counts"`
}

type originJSON struct {
	Exchange   string            `json:"exchange"`
	RoutingKey string            `json:"routing_key"`
	UserID     string            `json:"user_id"`
	AppID      string            `json:"app_id"`
	Headers    map[string]string `json:"headers,omitempty"`
	Copies     int64             `json:"copies"`
	Duplicates int64             `json:"duplicates"`
}

type repeatedIDJSON struct {
	ID          string       `json:"id"`
	Deliveries  int64        `json:"deliveries"`
	Duplicates  int64        `json:"duplicates"`
	Redelivered int64        `json:"redelivered"`
	First       *time.Time   `json:"first"`
	Before      bool         `json:"done_before"`
	Gap         float64      `json:"gap_seconds"`
	AfterWork   float64      `json:"after_work_seconds"`
	Origins     []originJSON `json:"origins"`
}

// calibrationJSON is how far the live figure was off in the time of a measurement.
type calibrationJSON struct {
	Method string  `json:"method"`
	Window float64 `json:"window_seconds"`
	Low    float64 `json:"low"`
	Value  float64 `json:"value"`
	High   float64 `json:"high"`
	Off    float64 `json:"off"`
	Held   bool    `json:"held"`
}

func (s pages) jsonOf(m dedup.Measurement) JSON {
	j := JSON{ID: m.ID, Href: s.site.Base + "/api/v1/measurements/" + url.PathEscape(m.ID), Pipeline: m.Pipeline, Broker: m.Broker, Queues: []string{}, By: m.By,
		Started: web.Time(m.Started), Began: web.Time(m.Began), Ended: web.Time(m.Ended), Seconds: m.Length.Seconds(), State: string(m.State), Final: m.State.Final(),
		Why: m.Why, Commands: web.OrEmpty(m.Commands), Seen: m.Seen, Result: resultOf(m.Result)}
	for _, q := range m.Queues {
		j.Vhost = q.Vhost
		j.Queues = append(j.Queues, q.Name)
	}
	if c := m.Live; c != nil {
		j.Calibration = &calibrationJSON{string(c.Method), c.Window.Seconds(), c.Low, c.Value, c.High, c.Off, c.Held}
	}
	return j
}

func resultOf(r *dedup.SessionResult) *measuredJSON {
	if r == nil {
		return nil
	}
	j := &measuredJSON{Began: web.Time(r.Began), Ended: web.Time(r.Ended), Traced: r.Traced, Counted: r.Counted, Messages: r.Messages, Duplicates: r.Duplicates, AtMost: r.AtMost,
		Sent: r.Sent, Redelivered: r.Redelivered, InFlight: r.InFlight, Swallowed: r.Swallowed, Failures: r.Failures, Retries: r.Retries, Doubled: r.Doubled,
		Unsettled: r.Unsettled, NoID: r.NoID, Events: r.Events, LatencyWhy: r.LatencyWhy, Origins: originsOf(r.Origins), RepeatedIDs: r.RepeatedIDs, Repeated: []repeatedIDJSON{}}
	j.Low, j.Value, j.High = r.Rate()
	j.SampleLow, j.SampleHigh = r.Sampling()
	if l := r.Latency; l.N > 0 {
		j.Latency = &latencyJSON{l.N, l.Mean, l.P50, l.P95, l.P99, l.Resolution, web.OrEmpty(l.Bounds), web.OrEmpty(l.Counts)}
	}
	for _, p := range r.Repeated {
		j.Repeated = append(j.Repeated, repeatedIDJSON{p.ID, p.Deliveries, p.Duplicates, p.Redelivered, web.Time(p.First), p.Before, p.Gap.Seconds(), p.Done.Seconds(), originsOf(p.Origins)})
	}
	return j
}

func originsOf(all []dedup.Origin) []originJSON {
	out := []originJSON{}
	for _, o := range all {
		out = append(out, originJSON{o.Exchange, o.RoutingKey, o.UserID, o.AppID, o.Headers, o.Copies, o.Duplicates})
	}
	return out
}

// apiStart begins to measure and answers at once. The header Idempotency-Key makes a repeated request harmless.
func (s pages) apiStart(r *web.Request) (web.Response, error) {
	service, err := s.known()
	if err != nil {
		return nil, err
	}
	body := startJSON{Seconds: dedup.MinTrace.Seconds()}
	if err := web.ReadJSON(r, &body); err != nil {
		return nil, err
	}
	token := r.Header.Get("Idempotency-Key")
	if len(token) > 200 {
		return nil, web.Invalid("The header Idempotency-Key has more than 200 bytes")
	}
	if !(body.Seconds >= 0 && body.Seconds <= 1e6) {
		return nil, list.Bad("seconds", "must be 60 to 120")
	}
	m, err := service.Start(r.Context(), r.Asker(), measuring.Request{Pipeline: r.PathValue("name"), Length: time.Duration(body.Seconds * float64(time.Second)), Token: token})
	if err != nil {
		return nil, err
	}
	return web.JSON{Status: http.StatusAccepted, Value: s.jsonOf(m)}, nil
}

// apiList gives the newest measurements of a pipeline, without lists of ids.
func (s pages) apiList(r *web.Request) (web.Response, error) {
	service, err := s.known()
	if err != nil {
		return nil, err
	}
	all, err := service.List(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return web.JSON{Value: map[string]any{"measurements": list.Map(all, s.jsonOf)}}, nil
}

// apiOne gives one measurement.
func (s pages) apiOne(r *web.Request) (web.Response, error) {
	m, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	return web.JSON{Value: s.jsonOf(m)}, nil
}

// apiStop ends a measurement before its time and answers with it.
func (s pages) apiStop(r *web.Request) (web.Response, error) {
	service, err := s.known()
	if err != nil {
		return nil, err
	}
	if err := service.Stop(r.Context(), r.Asker(), r.PathValue("id")); err != nil {
		return nil, err
	}
	return s.apiOne(r)
}

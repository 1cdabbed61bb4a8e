package alert

import (
	"cmp"
	"net/http"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// ListJSON is the answer of /api/v1/alerts.
type ListJSON struct {
	// At is the last evaluation that was kept; null before the first. Stale says since when there is none, empty while they are on time.
	At       *time.Time `json:"at"`
	Took     float64    `json:"took_seconds"`
	Interval float64    `json:"interval_seconds"`
	Stale    string     `json:"stale"`
	// Worst is the worst tier that fires, Unattended that of the alerts that are neither acknowledged nor silenced.
	Worst      string   `json:"worst"`
	Unattended string   `json:"unattended"`
	Firing     int      `json:"firing"`
	Errors     []string `json:"errors"`
	Total      int      `json:"total"`
	Alerts     []JSON   `json:"alerts"`
	// Note says why there are none where no pipeline of the name is configured; else empty.
	Note string `json:"note"`
}

// JSON is one alert. Value, limit and n are null where they are not known or mean nothing.
type JSON struct {
	Key     string `json:"key"`
	Rule    string `json:"rule"`
	Kind    string `json:"kind"`
	Subject string `json:"subject"`
	Title   string `json:"title"`
	Phase   string `json:"phase"`
	// Tier fires; Pending is reached and does not fire yet, null where there is none. Health is ok, no data or error: while it is not ok
	// the tier is that of before.
	Tier         string            `json:"tier"`
	Pending      *string           `json:"pending"`
	Health       string            `json:"health"`
	HealthSince  *time.Time        `json:"health_since"`
	Since        *time.Time        `json:"since"`
	FiredAt      *time.Time        `json:"fired_at"`
	TierSince    *time.Time        `json:"tier_since"`
	At           *time.Time        `json:"at"`
	Value        *float64          `json:"value"`
	Limit        *float64          `json:"limit"`
	N            *float64          `json:"n"`
	Unit         string            `json:"unit"`
	Window       float64           `json:"window_seconds"`
	Why          string            `json:"why"`
	Evidence     []string          `json:"evidence"`
	Cause        string            `json:"cause"`
	Step         string            `json:"step"`
	Runbook      string            `json:"runbook"`
	Labels       map[string]string `json:"labels"`
	Acknowledged *ackJSON          `json:"acknowledged"`
	// Silences are the ids of those that cover it.
	Silences []string   `json:"silences"`
	Flapping *time.Time `json:"flapping_since"`
}

type ackJSON struct {
	By    string     `json:"by"`
	Note  string     `json:"note"`
	At    *time.Time `json:"at"`
	Until *time.Time `json:"until"`
	Tier  string     `json:"tier"`
}

func ackOf(k *alerts.Ack) *ackJSON {
	if k == nil {
		return nil
	}
	return &ackJSON{k.By, k.Note, web.Time(k.At), web.Time(k.Until), k.Tier.String()}
}

func alertOf(a *alerts.AlertView) JSON {
	j := a.Last
	out := JSON{
		Key: a.Key.String(), Rule: a.Key.Rule, Kind: string(a.Key.Kind), Subject: a.Key.Subject, Title: show.AlertTitle(a), Phase: a.State.Phase.String(),
		Tier: firedTier(a).String(), Health: a.State.Health.String(), HealthSince: web.Time(a.State.HealthSince), Since: web.Time(a.State.Since),
		FiredAt: web.Time(a.State.FiredAt), TierSince: web.Time(a.State.TierSince), At: web.Time(j.At), Unit: string(j.Unit), Window: j.Window.Seconds(), Why: j.Why, Evidence: web.OrEmpty(j.Evidence),
		Cause: a.Cause, Labels: j.Labels, Acknowledged: ackOf(a.Ack), Silences: web.OrEmpty(a.Silences), Flapping: web.Time(a.Flapping),
	}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	if t := a.Pending(); t >= dedup.Warning {
		word := t.String()
		out.Pending = &word
	}
	if a.Rule != nil {
		out.Step, out.Runbook = a.Rule.Step, a.Rule.Runbook
	}
	if j.Health == rule.HealthOK {
		out.Value = web.Number(j.Value)
		if j.Limit != 0 {
			out.Limit = web.Number(j.Limit)
		}
		if j.N > 0 {
			out.N = web.Number(j.N)
		}
	}
	return out
}

// firedTier is the tier that fires; normal where none does, also before the first evaluation.
func firedTier(a *alerts.AlertView) dedup.Tier {
	if show.Fires(a) {
		return a.State.Tier
	}
	return dedup.Normal
}

// apiAlerts lists alerts, the worst first, filtered as the page is: without a state those that fire or are pending.
func (s pages) apiAlerts(r *web.Request) (web.Response, error) {
	view := s.deps.View.View()
	q := query{attended: true}
	if err := q.read(r.URL.Query(), view, q.params()); err != nil {
		return nil, err
	}
	body := ListJSON{
		At: web.Time(view.At), Took: view.Took.Seconds(), Interval: view.Interval.Seconds(), Stale: show.AlertsLate(view, time.Now()), Worst: view.Worst.String(),
		Unattended: view.Unattended.String(), Firing: view.Firing, Errors: web.OrEmpty(view.Errors),
	}
	var matching []*alerts.AlertView
	for _, a := range view.Alerts {
		if q.matches(a) {
			matching = append(matching, a)
		}
	}
	if body.Total = len(matching); body.Total == 0 {
		body.Note = web.NotConfigured(s.deps.Snapshots.Snapshot(), q.pipeline, "")
	}
	body.Alerts = list.Map(list.Page(matching, alertsPerAnswer, q.page), alertOf)
	return web.JSON{Value: body}, nil
}

// alertsPerAnswer is how many alerts an answer holds; ?page= gives the next ones.
const alertsPerAnswer = 1000

// DetailJSON is the answer of /api/v1/alerts/one.
type DetailJSON struct {
	JSON
	Definition *RuleJSON `json:"definition"`
	// Evaluations are the last ones, oldest first; Edges what happened, newest first; EdgesNote says what they leave out.
	Evaluations []evaluationJSON `json:"evaluations"`
	Edges       []edgeJSON       `json:"edges"`
	EdgesNote   string           `json:"edges_note"`
	// EndedAcks are the acknowledgements that hold no more, the last to end first.
	EndedAcks []endedAckJSON `json:"ended_acknowledgements"`
}

type endedAckJSON struct {
	ackJSON
	Ended   *time.Time `json:"ended"`
	Why     string     `json:"why"`
	EndedBy string     `json:"ended_by"`
}

type evaluationJSON struct {
	At     *time.Time `json:"at"`
	Value  *float64   `json:"value"`
	N      *float64   `json:"n"`
	Enters string     `json:"enters"`
	Holds  string     `json:"holds"`
	Health string     `json:"health"`
	Phase  string     `json:"phase"`
	Tier   string     `json:"tier"`
	Why    string     `json:"why"`
}

type edgeJSON struct {
	Kind  string     `json:"kind"`
	From  string     `json:"from"`
	To    string     `json:"to"`
	At    *time.Time `json:"at"`
	Why   string     `json:"why"`
	Cause string     `json:"cause"`
}

// apiAlert gives everything known of one alert.
func (s pages) apiAlert(r *web.Request) (web.Response, error) {
	view := s.deps.View.View()
	a, err := alertAsked(view, r.URL.Query().Get("key"))
	if err != nil {
		return nil, err
	}
	body := DetailJSON{JSON: alertOf(a), Evaluations: []evaluationJSON{}, Edges: []edgeJSON{}, EndedAcks: []endedAckJSON{}}
	if a.Rule != nil && ruleJudges(a.Rule) {
		one := ruleOf(a.Rule)
		body.Definition = &one
	}
	for i := range a.History {
		body.Evaluations = append(body.Evaluations, evaluationOf(&a.History[i]))
	}
	edges, note := s.readEdges(r.Context(), a.Key, time.Now())
	body.EdgesNote = note
	for _, e := range edges {
		body.Edges = append(body.Edges, edgeJSON{string(e.Kind), e.From.String(), e.To.String(), web.Time(e.At), e.Judgement.Why, e.Cause})
	}
	for _, e := range s.endedAcks(r.Context(), a.Key) {
		body.EndedAcks = append(body.EndedAcks, endedAckJSON{*ackOf(&e.Ack), web.Time(e.Ended), string(e.Why), e.EndedBy})
	}
	return web.JSON{Value: body}, nil
}

func evaluationOf(e *alerts.Evaluated) evaluationJSON {
	out := evaluationJSON{At: web.Time(e.At), Enters: e.Enters.String(), Holds: e.Holds.String(), Health: e.Health.String(), Phase: e.Phase.String(), Tier: e.Tier.String(), Why: e.Why}
	if e.Health == rule.HealthOK {
		out.Value = web.Number(e.Value)
		if e.N > 0 {
			out.N = web.Number(e.N)
		}
	}
	return out
}

// acknowledgeAlertJSON asks to acknowledge an alert: for a span such as 4h, or until a time. Without both it is for 4 hours. Tier is the
// one at which it was seen, empty for any.
type acknowledgeAlertJSON struct {
	Key   string     `json:"key"`
	Tier  string     `json:"tier"`
	Note  string     `json:"note"`
	For   string     `json:"for"`
	Until *time.Time `json:"until"`
}

// endOf reads the end of an acknowledgement or a silence.
func endOf(span string, until *time.Time, otherwise string, days int) (time.Time, error) {
	if until != nil {
		if span != "" {
			return time.Time{}, web.Invalid("Give either for or until, not both")
		}
		return *until, nil
	}
	d, err := parseSpan(cmp.Or(span, otherwise), days)
	return time.Now().Add(d), err
}

func (s pages) apiAcknowledgeAlert(r *web.Request) (web.Response, error) {
	var body acknowledgeAlertJSON
	if err := web.ReadJSON(r, &body); err != nil {
		return nil, err
	}
	a, err := alertAsked(s.deps.View.View(), body.Key)
	if err != nil {
		return nil, err
	}
	until, err := endOf(body.For, body.Until, "4h", maxAckDays)
	if err != nil {
		return nil, err
	}
	seen, err := seenTier(body.Tier)
	if err != nil {
		return nil, err
	}
	if err := s.deps.Attend.Acknowledge(r.Context(), r.Asker(), a.Key.String(), body.Note, seen, until); err != nil {
		return nil, err
	}
	return s.attended(a, http.StatusCreated)
}

func (s pages) apiUnacknowledgeAlert(r *web.Request) (web.Response, error) {
	var body struct {
		Key string `json:"key"`
	}
	if err := web.ReadJSON(r, &body); err != nil {
		return nil, err
	}
	a, err := alertAsked(s.deps.View.View(), body.Key)
	if err != nil {
		return nil, err
	}
	if err := s.deps.Attend.Unacknowledge(r.Context(), r.Asker(), a.Key.String()); err != nil {
		return nil, err
	}
	return s.attended(a, http.StatusOK)
}

// attended answers with an alert as it is after somebody attended to it.
func (s pages) attended(a *alerts.AlertView, status int) (web.Response, error) {
	if newer, ok := s.deps.View.View().Alert(a.Key); ok {
		a = newer
	}
	return web.JSON{Status: status, Value: alertOf(a)}, nil
}

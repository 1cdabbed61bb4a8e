package alert

import (
	"net/http"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
)

// SilencesJSON is the answer of /api/v1/silences: those that hold or will hold, the first to end first, and those of the last 30 days
// that have ended, the newest first.
type SilencesJSON struct {
	Silences []silenceJSON `json:"silences"`
	Ended    []silenceJSON `json:"ended"`
}

// silenceJSON is a silence. State is active, pending or expired.
type silenceJSON struct {
	ID       string        `json:"id"`
	State    string        `json:"state"`
	Matchers []MatcherJSON `json:"matchers"`
	Author   string        `json:"author"`
	Reason   string        `json:"reason"`
	Starts   *time.Time    `json:"starts"`
	Ends     *time.Time    `json:"ends"`
	// EndedBy is who ended it before its time, where that is known.
	EndedBy string `json:"ended_by"`
}

// MatcherJSON compares one label: =, !=, =~ or !~ as in PromQL.
type MatcherJSON struct {
	Label string `json:"label"`
	Op    string `json:"op"`
	Value string `json:"value"`
}

func silenceOf(one alerts.Silence, now time.Time) silenceJSON {
	out := silenceJSON{ID: one.ID, State: "pending", Matchers: []MatcherJSON{}, Author: one.Author, Reason: one.Reason, Starts: web.Time(one.Starts), Ends: web.Time(one.Ends), EndedBy: one.EndedBy}
	switch {
	case one.Expired(now):
		out.State = "expired"
	case one.Active(now):
		out.State = "active"
	}
	for _, m := range one.Matchers {
		out.Matchers = append(out.Matchers, MatcherJSON{m.Name, string(m.Op), m.Value})
	}
	return out
}

func (s pages) apiSilences(r *web.Request) (web.Response, error) {
	view := s.deps.View.View()
	now := time.Now()
	body := SilencesJSON{[]silenceJSON{}, []silenceJSON{}}
	for _, one := range sortedSilences(view.Silences) {
		if !one.Expired(now) {
			body.Silences = append(body.Silences, silenceOf(one, now))
		}
	}
	ended, err := s.readEnded(r.Context(), now)
	if err != nil {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: "Silences that have ended cannot be read from the journal", Err: err}
	}
	for _, one := range ended {
		body.Ended = append(body.Ended, silenceOf(one, now))
	}
	return web.JSON{Value: body}, nil
}

// addSilenceJSON asks for a silence: for a span such as 4h, or until a time. Without a beginning it begins now. With Preview nothing is
// made, and the answer says what it would cover.
type addSilenceJSON struct {
	Matchers []MatcherJSON `json:"matchers"`
	Reason   string        `json:"reason"`
	Starts   *time.Time    `json:"starts"`
	For      string        `json:"for"`
	Ends     *time.Time    `json:"ends"`
	Preview  bool          `json:"preview"`
}

// AddedSilenceJSON says what a silence covers. ID is empty where it was only looked at; Warning says that it covers nothing.
type AddedSilenceJSON struct {
	ID       string   `json:"id"`
	Alerts   []string `json:"alerts"`
	Subjects []string `json:"subjects"`
	Warning  string   `json:"warning"`
}

func (s pages) apiAddSilence(r *web.Request) (web.Response, error) {
	var body addSilenceJSON
	if err := web.ReadJSON(r, &body); err != nil {
		return nil, err
	}
	one, err := body.silence(r.Who.Name)
	if err != nil {
		return nil, err
	}
	found := alerts.Preview(one, s.deps.View.View(), s.deps.Snapshots.Snapshot())
	out := AddedSilenceJSON{Alerts: []string{}, Subjects: web.OrEmpty(found.Subjects), Warning: found.Warning}
	for _, k := range found.Alerts {
		out.Alerts = append(out.Alerts, k.String())
	}
	if body.Preview {
		return web.JSON{Value: out}, nil
	}
	if out.ID, err = s.deps.Attend.Silence(r.Context(), r.Asker(), askedSilence(one)); err != nil {
		return nil, err
	}
	return web.JSON{Status: http.StatusCreated, Value: out}, nil
}

func (b addSilenceJSON) silence(author string) (alerts.Silence, error) {
	now := time.Now()
	one := alerts.Silence{Author: author, Reason: b.Reason, Starts: now, Created: now}
	if b.Starts != nil {
		one.Starts = *b.Starts
	}
	for _, m := range b.Matchers {
		one.Matchers = append(one.Matchers, alerts.Matcher{Name: m.Label, Op: alerts.MatchOp(m.Op), Value: m.Value})
	}
	if b.For != "" || b.Ends == nil {
		d, err := parseSpan(b.For, maxSilenceDays)
		if err == nil && b.Ends != nil {
			err = web.Invalid("Give either for or ends, not both")
		}
		if err != nil {
			return one, err
		}
		one.Ends = one.Starts.Add(d)
	} else {
		one.Ends = *b.Ends
	}
	if b.Preview && one.Reason == "" {
		one.Reason = "to be given" // a preview needs none
	}
	return one, one.Validate()
}

func (s pages) apiExpireSilence(r *web.Request) (web.Response, error) {
	if err := s.endSilence(r); err != nil {
		return nil, err
	}
	return web.JSON{Value: map[string]bool{"expired": true}}, nil
}

// RulesJSON is the answer of /api/v1/rules, in the order of the configuration.
type RulesJSON struct {
	Rules []RuleJSON `json:"rules"`
}

// RuleJSON is a rule. Exactly one of measure, findings, expr, and numerator with denominator gives its value.
type RuleJSON struct {
	Name        string            `json:"name"`
	Title       string            `json:"title"`
	Kind        string            `json:"kind"`
	Meaning     string            `json:"meaning"`
	Step        string            `json:"step"`
	Runbook     string            `json:"runbook"`
	Unit        string            `json:"unit"`
	Disabled    bool              `json:"disabled"`
	Match       map[string]string `json:"match"`
	Limits      ruleLimitsJSON    `json:"limits"`
	For         ruleTimingJSON    `json:"for_seconds"`
	KeepFiring  float64           `json:"keep_firing_seconds"`
	MinCount    float64           `json:"min_count"`
	NoData      string            `json:"no_data"`
	Measure     string            `json:"measure"`
	Findings    []string          `json:"findings"`
	Expr        string            `json:"expr"`
	Numerator   string            `json:"numerator"`
	Denominator string            `json:"denominator"`
}

// ruleLimitsJSON are the limits at which tiers are entered, null where there is none, and the share of them at which one is left.
type ruleLimitsJSON struct {
	Warning   *float64 `json:"warning"`
	Severe    *float64 `json:"severe"`
	Emergency *float64 `json:"emergency"`
	Leave     float64  `json:"leave"`
}

// ruleTimingJSON says for how long a tier must be reached before it fires.
type ruleTimingJSON struct {
	Warning   float64 `json:"warning"`
	Severe    float64 `json:"severe"`
	Emergency float64 `json:"emergency"`
}

func ruleOf(r *rule.Rule) RuleJSON {
	out := RuleJSON{
		Name: r.Name, Title: r.Title, Kind: string(r.Kind), Meaning: r.Meaning, Step: r.Step, Runbook: r.Runbook, Unit: string(r.Unit), Disabled: r.Disabled,
		Match: map[string]string{}, Limits: ruleLimitsJSON{r.Limits.Warning, r.Limits.Severe, r.Limits.Emergency, leaveOf(r)},
		For: ruleTimingJSON{r.Timing.Warning.Seconds(), r.Timing.Severe.Seconds(), r.Timing.Emergency.Seconds()}, KeepFiring: r.Timing.KeepFiring.Seconds(),
		MinCount: r.MinCount, NoData: string(r.NoData), Measure: r.Measure, Findings: web.OrEmpty(r.Findings), Expr: r.Expr, Numerator: r.Numerator, Denominator: r.Denominator,
	}
	for name, value := range r.Match {
		out.Match[name] = value
	}
	if out.NoData == "" {
		out.NoData = string(rule.NoDataKeep)
	}
	return out
}

func (s pages) apiRules(r *web.Request) (web.Response, error) {
	view := s.deps.View.View()
	body := RulesJSON{[]RuleJSON{}}
	for i := range view.Rules {
		body.Rules = append(body.Rules, ruleOf(&view.Rules[i]))
	}
	return web.JSON{Value: body}, nil
}

package server

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// measurementsShown is how many measurements the page of a pipeline shows.
const measurementsShown = 3

// measureService measures pipelines exactly; *admin.Measurements is one. Its errors are *dedup.Error.
type measureService interface {
	Start(ctx context.Context, who admin.Caller, req admin.MeasureRequest) (dedup.Measurement, error)
	Stop(ctx context.Context, who admin.Caller, id string) error
	One(ctx context.Context, id string) (dedup.Measurement, error)
	List(ctx context.Context, pipeline string) ([]dedup.Measurement, error)
	// WhyNot says in few words why a pipeline cannot be measured, empty where it can.
	WhyNot(pipeline string) string
}

// measuring returns what measures.
func (s *Server) measuring() (measureService, error) {
	if s.measure == nil {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: "This dashboard was started without measurements"}
	}
	return s.measure, nil
}

// measurable tells which pipelines who asks can measure: an operator, where nothing forbids it.
func (s *Server) measurable(r *web.Request) func(pipeline string) bool {
	return func(pipeline string) bool {
		return s.measure != nil && r.Who.Can(operator) && s.measure.WhyNot(pipeline) == ""
	}
}

func measurementAddress(base, id string) string { return base + "/measurements/" + url.PathEscape(id) }

// measureSection is what the page of a pipeline says of exact measurements: nothing where they are off and there was none.
func (s *Server) measureSection(r *web.Request, pipeline string, most int, now time.Time) (templates.MeasureSection, error) {
	service, err := s.measuring()
	if err != nil {
		return templates.MeasureSection{}, err
	}
	all, err := service.List(r.Context(), pipeline)
	if err != nil {
		return templates.MeasureSection{}, err
	}
	base := s.cfg.base()
	path := base + "/pipelines/" + url.PathEscape(pipeline) + "/measurements"
	why := service.WhyNot(pipeline)
	v := templates.MeasureSection{Shown: why != admin.MeasurementsOff || len(all) > 0, Action: path}
	switch {
	case why != "":
		v.Action, v.WhyNot = "", show.Capital(show.EndSentence(why))
	case !r.Who.Can(operator):
		v.Action, v.WhyNot = "", "Measuring needs the role "+operator.String()+"; you are signed in as "+r.Who.Role.String()+"."
	}
	if len(all) > 0 {
		v.All = path
	}
	v.Last = templates.Sentence(lastMeasured(all, now))
	for _, m := range all[:min(len(all), most)] {
		v.Rows = append(v.Rows, measureRow(base, m, now))
	}
	return v, nil
}

// lastMeasured says what the newest measurement that has a result found, and how far the live figure was off then.
func lastMeasured(all []dedup.Measurement, now time.Time) string {
	for _, m := range all {
		if m.Result == nil {
			continue
		}
		text := "Last measured " + show.Ago(m.Ended, now) + ": " + measuredRate(m.Result) + " " + measuredBand(m.Result) + " " + measuredOf(m.Result) + "."
		if m.Live != nil {
			text += " " + calibrationText(m.Live)
		}
		return text
	}
	return ""
}

func measureRow(base string, m dedup.Measurement, now time.Time) templates.MeasureRow {
	row := templates.MeasureRow{Href: measurementAddress(base, m.ID), At: show.Moment(m.Started, now), Running: !m.State.Final(),
		By: templates.Plain(m.By, show.NameLimit), Why: templates.Sentence(m.Why)}
	row.State, row.Tier = measureWord(m)
	if m.Result != nil {
		row.Rate, row.Of = measuredRate(m.Result)+" "+measuredBand(m.Result), templates.Number(float64(m.Result.Messages))
	}
	if m.Live != nil {
		row.Off = inPoints(m.Live.Off, true)
	}
	return row
}

// measureWord is the state of a measurement in a word, with the tier that colours it.
func measureWord(m dedup.Measurement) (word, tier string) {
	switch m.State {
	case dedup.MeasurementRunning:
		if m.Began.IsZero() && len(m.Commands) > 0 {
			return "waiting", dedup.Warning.String()
		}
		return "measuring", dedup.TierUnknown.String()
	case dedup.MeasurementDone:
		return "done", dedup.Normal.String()
	case dedup.MeasurementFailed:
		return "failed", dedup.Severe.String()
	default:
		return string(m.State), dedup.Warning.String()
	}
}

// startMeasurement begins to measure, and leads to the page that follows it.
func (s *Server) startMeasurement(r *web.Request) (web.Response, error) {
	service, err := s.measuring()
	if err != nil {
		return nil, err
	}
	if err := r.ParseForm(); err != nil {
		return nil, web.FormError(err)
	}
	seconds, err := strconv.Atoi(r.PostForm.Get("seconds"))
	if err != nil || seconds < 0 || seconds > 1e6 {
		return nil, list.Bad("seconds", "must be 60 to 120")
	}
	m, err := service.Start(r.Context(), r.Asker(), admin.MeasureRequest{Pipeline: r.PathValue("name"), Length: time.Duration(seconds) * time.Second})
	if err != nil {
		return nil, err
	}
	return web.Redirect{To: measurementAddress(s.cfg.base(), m.ID)}, nil
}

// stopMeasurement ends a measurement before its time.
func (s *Server) stopMeasurement(r *web.Request) (web.Response, error) {
	service, err := s.measuring()
	if err != nil {
		return nil, err
	}
	if err := service.Stop(r.Context(), r.Asker(), r.PathValue("id")); err != nil {
		return nil, err
	}
	return web.Redirect{To: measurementAddress(s.cfg.base(), r.PathValue("id"))}, nil
}

// measurements lists the measurements of a pipeline.
func (s *Server) measurements(r *web.Request) (web.Response, error) {
	name, now := r.PathValue("name"), time.Now().In(web.Zone(r))
	section, err := s.measureSection(r, name, admin.MeasurementsListed, now)
	if err != nil {
		return nil, err
	}
	section.All = ""
	v := templates.MeasurementsView{Frame: s.frame(r, "Measurements of "+templates.Plain(name, show.NameLimit).Short), Crumbs: s.measureCrumbs(name),
		Heading: "Measurements of " + templates.Plain(name, show.NameLimit).Short, Section: section,
		Empty: templates.Empty{Heading: "No measurement yet", Text: "An exact measurement traces the deliveries of a minute and joins each with its message's marker."}}
	return web.Page{Component: templates.Measurements(v)}, nil
}

func (s *Server) measureCrumbs(pipeline string) []templates.Crumb {
	base := s.cfg.base()
	return []templates.Crumb{
		{Label: templates.Plain("Overview", show.NameLimit), Href: base + "/"},
		{Label: templates.Plain(pipeline, show.NameLimit), Href: base + "/pipelines/" + url.PathEscape(pipeline)},
	}
}

// measurementAsked returns the measurement that the address names, as who asks may see it.
func (s *Server) measurementAsked(r *web.Request) (dedup.Measurement, error) {
	service, err := s.measuring()
	if err != nil {
		return dedup.Measurement{}, err
	}
	m, err := service.One(r.Context(), r.PathValue("id"))
	if err != nil {
		return m, err
	}
	if !r.Who.Can(operator) && m.Result != nil {
		m.Result = withoutSenders(*m.Result)
	}
	return m, nil
}

// withoutSenders is a result as viewers see it: what copies carried is for those who may see messages.
func withoutSenders(r dedup.SessionResult) *dedup.SessionResult {
	bare := func(origins []dedup.Origin) []dedup.Origin {
		out := make([]dedup.Origin, len(origins))
		for i, o := range origins {
			out[i] = dedup.Origin{Exchange: o.Exchange, RoutingKey: o.RoutingKey, Copies: o.Copies, Duplicates: o.Duplicates}
		}
		return out
	}
	r.Origins = bare(r.Origins)
	repeated := make([]dedup.RepeatedID, len(r.Repeated))
	for i, p := range r.Repeated {
		p.Origins = bare(p.Origins)
		repeated[i] = p
	}
	r.Repeated = repeated
	return &r
}

// measurement answers the page of one measurement. While it runs, the page follows it: by the stream of hints, or without the script by
// loading itself again.
func (s *Server) measurement(r *web.Request) (web.Response, error) {
	m, err := s.measurementAsked(r)
	if err != nil {
		return nil, err
	}
	return web.Page{Component: templates.Measurement(s.measurementView(r, m))}, nil
}

func (s *Server) measurementView(r *web.Request, m dedup.Measurement) templates.MeasurementView {
	now, base := time.Now().In(web.Zone(r)), s.cfg.base()
	name := templates.Plain(m.Pipeline, show.NameLimit).Short
	v := templates.MeasurementView{Self: measurementAddress(base, m.ID), Crumbs: s.measureCrumbs(m.Pipeline), Heading: "Measurement of " + name,
		Running: !m.State.Final(), Why: templates.Sentence(show.Capital(show.EndSentence(m.Why))), Meta: measureMeta(m, now)}
	v.State, v.Tier = measureWord(m)
	title := "Measurement of " + name + " · " + v.State
	if v.Running {
		showMeasuring(&v, m, now)
		title = strconv.Itoa(v.Done*100/max(v.Total, 1)) + " % · measuring " + name
	} else {
		v.Again = base + "/pipelines/" + url.PathEscape(m.Pipeline) + "/measurements"
	}
	if m.Result != nil {
		v.Result = measuredView(base, v.Self, m, r.Who.Can(operator), now)
	}
	if r.Who.Can(operator) {
		v.Audit = web.AuditAddress(base, m.ID)
	} else {
		v.NoStop = "Stopping needs the role " + operator.String() + "."
	}
	if s.cfg.ReadOnly {
		v.Stop = ""
	}
	v.Frame = s.frame(r, title)
	v.Frame.Live = web.Live("measurement:" + m.ID)
	if v.Running {
		v.Frame.Refresh = 2
	}
	return v
}

package measurement

import (
	"net/url"
	"strconv"
	"time"

	"dedup-dashboard/internal/admin/measuring"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// start begins to measure, and leads to the page that follows it.
func (s pages) start(r *web.Request) (web.Response, error) {
	service, err := s.known()
	if err != nil {
		return nil, err
	}
	seconds, err := strconv.Atoi(r.PostForm.Get("seconds"))
	if err != nil || seconds < 0 || seconds > 1e6 {
		return nil, list.Bad("seconds", "must be 60 to 120")
	}
	m, err := service.Start(r.Context(), r.Asker(), measuring.Request{Pipeline: r.PathValue("name"), Length: time.Duration(seconds) * time.Second})
	if err != nil {
		return nil, err
	}
	return web.Redirect{To: address(s.site.Base, m.ID)}, nil
}

// stop ends a measurement before its time.
func (s pages) stop(r *web.Request) (web.Response, error) {
	service, err := s.known()
	if err != nil {
		return nil, err
	}
	if err := service.Stop(r.Context(), r.Asker(), r.PathValue("id")); err != nil {
		return nil, err
	}
	return web.Redirect{To: address(s.site.Base, r.PathValue("id"))}, nil
}

// list lists the measurements of a pipeline.
func (s pages) list(r *web.Request) (web.Response, error) {
	name, now := r.PathValue("name"), r.Now()
	section, err := s.Section(r, s.site.Base, name, measuring.Listed, now)
	if err != nil {
		return nil, err
	}
	section.All = ""
	v := templates.MeasurementsView{Frame: s.site.Frame(r, "Measurements of "+show.ShortName(name)), Crumbs: show.PipelineCrumbs(s.site.Base, name),
		Heading: "Measurements of " + show.ShortName(name), Section: section,
		Empty: templates.Empty{Heading: "No measurement yet", Text: "An exact measurement traces the deliveries of a minute and joins each with its message's marker."}}
	return web.Page{Component: templates.Measurements(v)}, nil
}

// asked returns the measurement that the address names, as who asks may see it.
func (s pages) asked(r *web.Request) (dedup.Measurement, error) {
	service, err := s.known()
	if err != nil {
		return dedup.Measurement{}, err
	}
	m, err := service.One(r.Context(), r.PathValue("id"))
	if err != nil {
		return m, err
	}
	if !r.Who.Can(auth.Operator) && m.Result != nil {
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

// one answers the page of one measurement. While it runs, the page follows it: by the stream of hints, or without the script by
// loading itself again.
func (s pages) one(r *web.Request) (web.Response, error) {
	m, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	return web.Page{Component: templates.Measurement(s.view(r, m))}, nil
}

func (s pages) view(r *web.Request, m dedup.Measurement) templates.MeasurementView {
	now, base := r.Now(), s.site.Base
	name := show.ShortName(m.Pipeline)
	v := templates.MeasurementView{Self: address(base, m.ID), Crumbs: show.PipelineCrumbs(s.site.Base, m.Pipeline), Heading: "Measurement of " + name,
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
		v.Result = measuredView(base, v.Self, m, r.Who.Can(auth.Operator), now)
	}
	if r.Who.Can(auth.Operator) {
		v.Audit = web.AuditAddress(base, m.ID)
	} else {
		v.NoStop = "Stopping needs the role " + auth.Operator.String() + "."
	}
	if s.site.ReadOnly {
		v.Stop = ""
	}
	v.Frame = s.site.Frame(r, title)
	v.Frame.Live = web.Live("measurement:" + m.ID)
	if v.Running {
		v.Frame.Refresh = 2
	}
	return v
}

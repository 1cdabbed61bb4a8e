// Package measurement serves the pages of exact measurements, and what other pages say of them.
package measurement

import (
	"context"
	"net/url"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/measuring"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
)

// service measures pipelines exactly; *measuring.Measurements is one. Its errors are *dedup.Error.
type service interface {
	Start(ctx context.Context, who admin.Caller, req measuring.Request) (dedup.Measurement, error)
	Stop(ctx context.Context, who admin.Caller, id string) error
	One(ctx context.Context, id string) (dedup.Measurement, error)
	List(ctx context.Context, pipeline string) ([]dedup.Measurement, error)
	// WhyNot says in few words why a pipeline cannot be measured, empty where it can.
	WhyNot(pipeline string) string
}

// Measurements are what pages show of exact measurements. They are safe for concurrent use.
type Measurements struct{ service service }

// New returns what shows the measurements of a service; without one its pages say that there is none.
func New(s service) Measurements { return Measurements{s} }

// known returns what measures.
func (m Measurements) known() (service, error) {
	if m.service == nil {
		return nil, web.Unavailable("This dashboard was started without measurements")
	}
	return m.service, nil
}

// Measurable tells which pipelines who asks can measure: an operator, where nothing forbids it.
func (m Measurements) Measurable(r *web.Request) func(pipeline string) bool {
	return func(pipeline string) bool {
		return m.service != nil && r.Who.Can(auth.Operator) && m.service.WhyNot(pipeline) == ""
	}
}

// pages answer with measurements.
type pages struct {
	Measurements
	site web.Site
}

// Pages returns the routes of measurements.
func (m Measurements) Pages(site web.Site) []web.Route {
	s := pages{m, site}
	const of, one = "/pipelines/{name}/measurements", "/measurements/{id}"
	return []web.Route{
		web.Get(of, auth.Viewer, s.list), web.Post(of, auth.Operator, s.start), web.Get(one, auth.Viewer, s.one), web.Get(one+"/repeated.csv", auth.Viewer, s.repeatedCSV),
		web.Post(one+"/stop", auth.Operator, s.stop), web.APIGet(of, auth.Viewer, s.apiList), web.APIPost(of, auth.Operator, s.apiStart),
		web.APIGet(one, auth.Viewer, s.apiOne), web.APIPost(one+"/stop", auth.Operator, s.apiStop),
	}
}

func address(base, id string) string { return base + "/measurements/" + url.PathEscape(id) }

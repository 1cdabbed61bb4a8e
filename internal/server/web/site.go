package web

import (
	"time"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// A Route is one address of the dashboard.
type Route struct {
	Method string // GET answers HEAD too
	Path   string // below the base path; {name} is a pipeline or a page, {id} a plan, an operation, a job or a silence
	Needs  auth.Role
	Kind   Kind
	// Acts marks what changes something beyond sessions and settings: it goes away with read_only.
	Acts    bool
	Handler Handler
}

// Pages are the routes of a package outside the server. The server calls it once and hands it what it offers.
type Pages func(Site) []Route

// A Site is what the server offers to pages that register with it. Its functions are safe for concurrent use.
type Site struct {
	// Base is the base path without a trailing slash, empty for the root.
	Base string
	// ReadOnly says that nothing here changes anything.
	ReadOnly bool
	// Masker hides values from those who may not see them.
	Masker Masker
	// Frame returns what every page shares, under a title.
	Frame func(*Request, string) templates.Frame
	// ProxyNote tells admins of a proxy that is not trusted; its zero value if there is none.
	ProxyNote func(auth.Principal) templates.Problem
	// Verdicts gives the verdict on each pipeline of a snapshot as it holds at a time, in its order.
	Verdicts func(*dedup.Snapshot, time.Time) []alerts.Verdict
	// Stories tells what dead letters and jobs know of an id or a business key, of which these markers were found, to those who may see
	// them; missing is what cannot be asked.
	Stories func(r *Request, term string, found marker.LookupResult, now time.Time) (all []Dated, missing string)
	// WithJobs returns a snapshot with what jobs of ours did as events of their pipelines, for those who may see jobs.
	WithJobs func(*Request, *dedup.Snapshot) *dedup.Snapshot
}

// Dated is an entry of a timeline with the time that it is sorted by.
type Dated struct {
	When time.Time
	templates.TimelineEntry
}

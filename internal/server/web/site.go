package web

import (
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// Pages are the routes of a package outside the server. The server calls it once and hands it what it offers.
type Pages func(Site) []Route

// A Site is what the server offers to pages that register with it. Its functions are safe for concurrent use.
type Site struct {
	// Base is the base path without a trailing slash, empty for the root.
	Base string
	// Secure says that browsers come by HTTPS.
	Secure bool
	// ReadOnly says that nothing here changes anything.
	ReadOnly bool
	// Masker hides values from those who may not see them.
	Masker Masker
	// Frame returns what every page shares, under a title.
	Frame func(*Request, string) templates.Frame
	// ErrorView is the page that says an error.
	ErrorView func(*Request, error) templates.ErrorView
	// Recheck has streams look at once whether who reads them still may.
	Recheck func()
	// ProxyNote tells admins of a proxy that is not trusted; its zero value if there is none.
	ProxyNote func(auth.Principal) templates.Problem
	// Judge is how pipelines are judged at a time: by their figures and findings, and by what fires of them.
	Judge func(now time.Time) show.Judge
	// Verdicts gives the verdict on each pipeline of a snapshot as it holds at a time, in its order.
	Verdicts func(*dedup.Snapshot, time.Time) []alerts.Verdict
}

// Dated is an entry of a timeline with the time that it is sorted by.
type Dated struct {
	When time.Time
	templates.TimelineEntry
}

// Package alert serves the pages of alerts, rules and silences, and what other pages say of alerts.
package alert

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/alerting"
	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// judge judges, *alerts.Engine: View is what it knows now, never nil. It is cheap and safe for concurrent use.
type judge interface {
	View() *alerts.View
}

// attender acknowledges and silences alerts; *alerting.Alerting is one. Its errors are *dedup.Error.
type attender interface {
	acknowledger
	silencer
	Test(ctx context.Context, who admin.Caller, channel string) error
	WhyNot() string
}

type acknowledger interface {
	// Acknowledge is refused with a conflict where the alert is worse than the tier at which it was seen; unknown for any.
	Acknowledge(ctx context.Context, who admin.Caller, alert, note string, seen dedup.Tier, until time.Time) error
	Unacknowledge(ctx context.Context, who admin.Caller, alert string) error
}

type silencer interface {
	Silence(ctx context.Context, who admin.Caller, s alerting.NewSilence) (string, error)
	Expire(ctx context.Context, who admin.Caller, id string) error
}

// records keep what happened to alerts, and silences beyond their end.
type records interface {
	// History returns the newest edges of an alert, or of all alerts of a subject with a key without a rule, that are older than a time,
	// newest first: at most limit and those that happened at the same time as the last of them.
	History(ctx context.Context, of rule.Key, limit int, before time.Time) ([]alerts.Transition, error)
	// EndedAcks returns the newest acknowledgements of an alert that hold no more, the last to end first, at most limit.
	EndedAcks(ctx context.Context, of rule.Key, limit int) ([]alerts.EndedAck, error)
	// Silences returns those that end after a time, whether or not they have begun.
	Silences(ctx context.Context, after time.Time) ([]alerts.Silence, error)
}

// A ChannelState is how a channel of notifications fares.
type ChannelState struct {
	// Name is that of the configuration, Kind what it is: webhook, slack.
	Name, Kind string
	// Waiting counts the messages that are not delivered yet, Oldest is when the oldest of them was made.
	Waiting int
	Oldest  time.Time
	// LastSuccess is when a message was last delivered, LastError why one last was not, in words that may be shown, and LastErrorAt when.
	LastSuccess, LastErrorAt time.Time
	LastError                string
	// Faults are the receivers that take nothing, where the channel has several.
	Faults []ChannelFault
}

// A ChannelFault says since when a receiver of a channel takes nothing, and why, in words that may be shown.
type ChannelFault struct {
	Receiver, Text string
	Since          time.Time
}

// channelReader tells how the channels of notifications fare, all that are configured, in their order.
type channelReader interface {
	Channels(ctx context.Context) ([]ChannelState, error)
}

// Deps are what stands behind the pages of alerts. Without View there are none, and they say so; each of the others may be
// missing too.
type Deps struct {
	View     judge
	Attend   attender
	Records  records
	Channels channelReader
	// Off says why no rule is judged, where View is missing.
	Off string
	// Snapshots name what a silence can be about.
	Snapshots snapshots
	Log       *slog.Logger
}

// snapshots gives what is known now; never nil.
type snapshots interface{ Snapshot() *dedup.Snapshot }

// pages answer with alerts, rules and silences. They are safe for concurrent use.
type pages struct {
	deps Deps
	site web.Site
}

// New returns the routes of alerts, rules and silences.
func New(deps Deps) web.Pages {
	return func(site web.Site) []web.Route {
		s := pages{deps, site}
		shown := []web.Route{
			web.Get("/alerts", auth.Viewer, s.alertsPage), web.Get("/alerts/rules", auth.Viewer, s.rulesPage), web.Get("/alerts/one", auth.Viewer, s.alertPage),
			web.Get("/silences", auth.Viewer, s.silencesPage), web.Get("/silences/new", auth.Viewer, s.newSilence),
		}
		tell := []web.Route{
			web.APIGet("/alerts", auth.Viewer, s.apiAlerts), web.APIGet("/alerts/one", auth.Viewer, s.apiAlert),
			web.APIGet("/silences", auth.Viewer, s.apiSilences), web.APIGet("/rules", auth.Viewer, s.apiRules),
		}
		if err := s.whyNoJudging(); err != nil {
			tell = web.Refused(tell, err)
		}
		act := []web.Route{
			web.Post("/alerts/acknowledge", auth.Operator, s.acknowledgeAlert), web.Post("/alerts/acknowledge-selected", auth.Operator, s.acknowledgeSelected),
			web.Post("/alerts/unacknowledge", auth.Operator, s.unacknowledgeAlert), web.Post("/alerts/test", auth.Operator, s.testChannel),
			web.Post("/silences", auth.Operator, s.makeSilence), web.Post("/silences/{id}/expire", auth.Operator, s.expireSilence),
			web.APIPost("/alerts/acknowledge", auth.Operator, s.apiAcknowledgeAlert), web.APIPost("/alerts/unacknowledge", auth.Operator, s.apiUnacknowledgeAlert),
			web.APIPost("/silences", auth.Operator, s.apiAddSilence), web.APIPost("/silences/{id}/expire", auth.Operator, s.apiExpireSilence),
		}
		if err := s.whyNoActing(); err != nil {
			act = web.Refused(act, err)
		}
		return slices.Concat(shown, tell, act)
	}
}

// alertsOffWhy says why there are no alerts; empty when there are.
func (s pages) alertsOffWhy() string {
	switch {
	case s.deps.View != nil:
		return ""
	case s.deps.Off != "":
		return show.Statement(s.deps.Off).Short
	default:
		return "This dashboard judges figures on its pages alone: no rule is evaluated here, and nobody is told of anything."
	}
}

// whyNoJudging refuses what needs alerts where there are none; nil where there are.
func (s pages) whyNoJudging() error {
	if why := s.alertsOffWhy(); why != "" {
		return web.Unavailable("Alerts are switched off. " + why)
	}
	return nil
}

// whyNoActing refuses to acknowledge and silence where nothing keeps that; nil where something does.
func (s pages) whyNoActing() error {
	if s.deps.Attend == nil {
		return cmp.Or(s.whyNoJudging(), web.Unavailable("This dashboard was started without a journal of acknowledgements and silences"))
	}
	return s.whyNoJudging()
}

// whyNoAttending says why this reader cannot acknowledge or silence anything; empty when they can.
func (s pages) whyNoAttending(r *web.Request) string {
	switch {
	case s.deps.Attend == nil:
		return "Nothing can be acknowledged or silenced here: the dashboard was started without a journal of it."
	case s.deps.Attend.WhyNot() != "":
		return "Nothing can be acknowledged or silenced here: " + show.EndSentence(s.deps.Attend.WhyNot())
	case !r.Who.Can(auth.Operator):
		return r.NeedsRole("Acknowledging and silencing", auth.Operator)
	}
	return ""
}

// alertsPage answers the list of alerts.
func (s pages) alertsPage(r *web.Request) (web.Response, error) {
	frame := s.site.Frame(r, "Alerts")
	if why := s.alertsOffWhy(); why != "" {
		return web.Page{Component: templates.Alerts(templates.AlertsView{LivePage: templates.LivePage{Frame: frame}, Off: why})}, nil
	}
	var q query
	now, view := r.Now(), s.deps.View.View()
	if wrong := q.read(r.URL.Query(), view, q.pageParams()); wrong != nil {
		v := alertsView(view, s.deps.Snapshots.Snapshot(), q, now, frame)
		v.Rows, v.Groups, v.Count, v.Empty = nil, nil, "", web.BadFilter(wrong, v.Filter.Clear)
		return web.Page{Status: http.StatusBadRequest, Component: templates.Alerts(v)}, nil
	}
	mayAck := s.whyNoAttending(r) == ""
	if q.choose = q.choose && mayAck; !q.choose { // a box that is ticked stays where it is
		frame.Live = web.Live("alerts")
	}
	v := alertsView(view, s.deps.Snapshots.Snapshot(), q, now, frame)
	if mayAck {
		v.Many = ackMany(q, v.Rows, frame.Base)
	}
	if q.pipeline != "" {
		v.HistoryOf = show.ShortName(q.pipeline)
		v.History = s.edgesOf(r, rule.Key{Kind: rule.OfPipeline, Subject: q.pipeline}, view, now)
	}
	if r.Fragment == "" {
		v.Channels = s.channelsView(r, now)
	}
	return web.Page{Component: templates.Alerts(v)}, nil
}

// alertAsked returns the alert that a request names by its key.
func alertAsked(view *alerts.View, text string) (*alerts.AlertView, error) {
	if text == "" {
		return nil, list.Bad("key", "must name the alert, as duplicate_rate/pipeline/orders")
	}
	key, ok := rule.ParseKey(text)
	if ok {
		if a, there := view.Alert(key); there {
			return a, nil
		}
	}
	return nil, web.NotFound("There is no alert " + show.LongName(text).Short + ": no such rule judges this subject, or it was not judged yet")
}

// alertPage answers the page of one alert.
func (s pages) alertPage(r *web.Request) (web.Response, error) {
	if why := s.alertsOffWhy(); why != "" {
		return web.Page{Component: templates.Alerts(templates.AlertsView{LivePage: templates.LivePage{Frame: s.site.Frame(r, "Alert")}, Off: why})}, nil
	}
	view := s.deps.View.View()
	a, err := alertAsked(view, r.URL.Query().Get("key"))
	if err != nil {
		return nil, &web.LedBack{Err: err, Href: s.site.Base + "/alerts", Word: "To the alerts"}
	}
	now := r.Now()
	frame := s.site.Frame(r, show.ShortName(show.AlertTitle(a)))
	frame.Live = web.Live("alerts")
	v := alertView(view, a, now, frame)
	v.Timeline = s.edgesOf(r, a.Key, view, now)
	s.attendViews(r, &v, view, a, now)
	return web.Page{Component: templates.Alert(v)}, nil
}

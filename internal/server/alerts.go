package server

import (
	"context"
	"net/http"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// alertService judges, *alerts.Engine: View is what it knows now, never nil. It is cheap and safe for concurrent use.
type alertService interface {
	View() *alerts.View
}

// attendService acknowledges and silences alerts; *admin.Alerting is one. Its errors are *dedup.Error.
type attendService interface {
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
	Silence(ctx context.Context, who admin.Caller, s admin.NewSilence) (string, error)
	Expire(ctx context.Context, who admin.Caller, id string) error
}

// alertRecords keep what happened to alerts, and silences beyond their end.
type alertRecords interface {
	// History returns the newest edges of an alert, or of all alerts of a subject with a key without a rule, that are older than a time,
	// newest first: at most limit and those that happened at the same time as the last of them.
	History(ctx context.Context, of alerts.Key, limit int, before time.Time) ([]alerts.Transition, error)
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

// AlertDeps are what stands behind the pages of alerts. Without View there are none, and they say so; each of the others may be
// missing too.
type AlertDeps struct {
	View     alertService
	Attend   attendService
	Records  alertRecords
	Channels channelReader
	// Off says why no rule is judged, where View is missing.
	Off string
}

// alertsOffWhy says why there are no alerts; empty when there are.
func (s *Server) alertsOffWhy() string {
	switch {
	case s.alerts.View != nil:
		return ""
	case s.alerts.Off != "":
		return templates.Sentence(show.EndSentence(show.Capital(s.alerts.Off))).Short
	default:
		return "This dashboard judges figures on its pages alone: no rule is evaluated here, and nobody is told of anything."
	}
}

// judging returns the view of alerts, or why there is none.
func (s *Server) judging() (*alerts.View, error) {
	if why := s.alertsOffWhy(); why != "" {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: "Alerts are switched off. " + why}
	}
	return s.alerts.View.View(), nil
}

// attending returns what acknowledges and silences.
func (s *Server) attending() (attendService, error) {
	if _, err := s.judging(); err != nil {
		return nil, err
	}
	if s.alerts.Attend == nil {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: "This dashboard was started without a journal of acknowledgements and silences"}
	}
	return s.alerts.Attend, nil
}

// whyNoAttending says why this reader cannot acknowledge or silence anything; empty when they can.
func (s *Server) whyNoAttending(r *web.Request) string {
	switch {
	case s.alerts.Attend == nil:
		return "Nothing can be acknowledged or silenced here: the dashboard was started without a journal of it."
	case s.alerts.Attend.WhyNot() != "":
		return "Nothing can be acknowledged or silenced here: " + show.EndSentence(s.alerts.Attend.WhyNot())
	case !r.Who.Can(operator):
		return "Acknowledging and silencing needs the role " + operator.String() + "; you are signed in as " + r.Who.Role.String() + "."
	}
	return ""
}

// lateView says since when rules were not judged, once three intervals have passed without; empty while they are on time.
func lateView(v *alerts.View, now time.Time) string {
	age := now.Sub(v.At)
	if v.At.IsZero() || v.Interval <= 0 || age <= 3*v.Interval {
		return ""
	}
	return "Stale since " + show.Moment(v.At, now).Text + " (" + templates.Span(age) + "): no evaluation has ended since then"
}

// alertsPage answers the list of alerts.
func (s *Server) alertsPage(r *web.Request) (web.Response, error) {
	var q alertsQuery
	if err := list.Read(r.URL.Query(), q.params()...); err != nil {
		return nil, err
	}
	frame := s.frame(r, "Alerts")
	if why := s.alertsOffWhy(); why != "" {
		return web.Page{Component: templates.Alerts(templates.AlertsView{Frame: frame, Off: why})}, nil
	}
	mayAck := s.whyNoAttending(r) == ""
	if q.choose = q.choose && mayAck; !q.choose { // a box that is ticked stays where it is
		frame.Live = web.Live("alerts")
	}
	now, view := time.Now().In(web.Zone(r)), s.alerts.View.View()
	v := alertsView(view, s.snapshots.Snapshot(), q, now, frame)
	if mayAck {
		v.Many = ackMany(q, v.Rows, frame.Base)
	}
	if q.pipeline != "" {
		v.HistoryOf = templates.Plain(q.pipeline, show.NameLimit).Short
		v.History = s.edgesOf(r, alerts.Key{Kind: alerts.OfPipeline, Subject: q.pipeline}, view, now)
	}
	if r.Fragment == "" {
		v.Channels = s.channelsView(r, now)
	}
	return web.Page{Status: http.StatusOK, Component: templates.Alerts(v)}, nil
}

// alertAsked returns the alert that a request names by its key.
func alertAsked(view *alerts.View, text string) (*alerts.AlertView, error) {
	if text == "" {
		return nil, list.Bad("key", "must name the alert, as duplicate_rate/pipeline/orders")
	}
	key, ok := alerts.ParseKey(text)
	if ok {
		if a, there := view.Alert(key); there {
			return a, nil
		}
	}
	return nil, web.NotFound("There is no alert " + templates.Plain(text, 2*show.NameLimit).Short + ": no such rule judges this subject, or it was not judged yet")
}

// alertPage answers the page of one alert.
func (s *Server) alertPage(r *web.Request) (web.Response, error) {
	if why := s.alertsOffWhy(); why != "" {
		return web.Page{Component: templates.Alerts(templates.AlertsView{Frame: s.frame(r, "Alert"), Off: why})}, nil
	}
	view := s.alerts.View.View()
	a, err := alertAsked(view, r.URL.Query().Get("key"))
	if err != nil {
		return nil, &web.LedBack{Err: err, Href: s.cfg.base() + "/alerts", Word: "To the alerts"}
	}
	now := time.Now().In(web.Zone(r))
	frame := s.frame(r, templates.Plain(titleOf(a), show.NameLimit).Short)
	frame.Live = web.Live("alerts")
	v := alertView(view, a, now, frame)
	v.Timeline = s.edgesOf(r, a.Key, view, now)
	s.attendViews(r, &v, view, a, now)
	return web.Page{Status: http.StatusOK, Component: templates.Alert(v)}, nil
}

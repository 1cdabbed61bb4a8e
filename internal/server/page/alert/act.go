package alert

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

const (
	// maxAckDays bounds an acknowledgement, maxSilenceDays a silence, in a form or a request.
	maxAckDays     = 7
	maxSilenceDays = 90
)

// spans are the durations that forms offer.
func spans(chosen string) []templates.Choice {
	var out []templates.Choice
	for _, c := range [][2]string{{"30m", "30 minutes"}, {"1h", "1 hour"}, {"2h", "2 hours"}, {"4h", "4 hours"}, {"24h", "24 hours"}, {"72h", "3 days"}, {"168h", "7 days"}} {
		out = append(out, templates.Choice{Value: c[0], Label: c[1], Chosen: c[0] == chosen})
	}
	return out
}

// parseSpan reads the duration of a form or a request.
func parseSpan(text string, days int) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > time.Duration(days)*24*time.Hour {
		return 0, list.Bad("for", "must be a span such as 30m or 4h, of at most "+strconv.Itoa(days)+" days")
	}
	return d, nil
}

// attendViews add the forms that attend to an alert, as who asks may use them.
func (s pages) attendViews(r *web.Request, v *templates.AlertView, view *alerts.View, a *alerts.AlertView, now time.Time) {
	base := s.site.Base
	v.Ack = templates.AckForm{Key: a.Key.String(), Tier: a.State.Tier.String(), WhyNot: s.whyNoAttending(r), Durations: spans("4h")}
	switch {
	case a.Ack != nil:
		v.Ack.Line = templates.Sentence(ackText(a.Ack, now) + " That ends when the tier worsens, when the alert resolves, or then.")
	case show.Fires(a):
		v.Ack.Line = templates.Sentence("Nobody has acknowledged it. Who does keeps it from being told again, until its tier worsens, it resolves, or the time is over.")
	default:
		v.Ack.Line = templates.Sentence("It does not fire: there is nothing to acknowledge.")
	}
	if v.Ack.WhyNot == "" {
		if show.Fires(a) {
			v.Ack.Make = base + "/alerts/acknowledge"
		}
		if a.Ack != nil {
			v.Ack.Back = base + "/alerts/unacknowledge"
		}
		v.Silence = silenceFor(base, a)
	}
	for _, one := range view.Silences {
		if slices.Contains(a.Silences, one.ID) {
			v.SilencedBy = append(v.SilencedBy, silenceRow(one, view, "", now))
		}
	}
}

// silenceFor is the form of a silence for one alert, so that it covers it as it is.
func silenceFor(base string, a *alerts.AlertView) string {
	k := a.Key
	q := url.Values{"label": {rule.LabelRule}, "op": {string(alerts.MatchEqual)}, "value": {k.Rule}}
	if k.Kind != rule.OfDashboard {
		q.Add("label", string(k.Kind))
		q.Add("op", string(alerts.MatchEqual))
		q.Add("value", k.Subject)
	}
	if a.State.Tier == dedup.Emergency || a.Pending() == dedup.Emergency {
		q.Set("emergency", "1")
	}
	return base + "/silences/new?" + q.Encode()
}

// acknowledgeAlert notes that the reader attends to an alert.
func (s pages) acknowledgeAlert(r *web.Request) (web.Response, error) {
	a, err := s.postedAlert(r)
	if err != nil {
		return nil, err
	}
	span, err := parseSpan(r.PostForm.Get("for"), maxAckDays)
	if err != nil {
		return nil, err
	}
	seen, err := seenTier(r.PostForm.Get("tier"))
	if err != nil {
		return nil, err
	}
	address := show.AlertAddress(s.site.Base, a.Key)
	note := strings.TrimSpace(r.PostForm.Get("note"))
	err = s.deps.Attend.Acknowledge(r.Context(), r.Asker(), a.Key.String(), note, seen, time.Now().Add(span))
	if now, worse := s.worseThanSeen(a.Key, seen, err); worse {
		v := templates.AckedView{Heading: "It got worse", Back: address, BackWord: "Back to the alert"}
		v.Refused = []templates.Problem{refusedAck(s.site.Base, now, err)}
		v.Again = s.ackAgain(r, []*alerts.AlertView{now})
		return s.ackedPage(r, v), nil
	}
	if err != nil {
		return nil, err
	}
	return web.Redirect{To: address + "#attend-title"}, nil
}

// unacknowledgeAlert takes an acknowledgement back.
func (s pages) unacknowledgeAlert(r *web.Request) (web.Response, error) {
	a, err := s.postedAlert(r)
	if err != nil {
		return nil, err
	}
	if err := s.deps.Attend.Unacknowledge(r.Context(), r.Asker(), a.Key.String()); err != nil {
		return nil, err
	}
	return web.Redirect{To: show.AlertAddress(s.site.Base, a.Key) + "#attend-title"}, nil
}

// postedAlert returns the alert that a form names.
func (s pages) postedAlert(r *web.Request) (*alerts.AlertView, error) {
	return alertAsked(s.deps.View.View(), r.PostForm.Get("key"))
}

// testChannel sends a message for trial.
func (s pages) testChannel(r *web.Request) (web.Response, error) {
	channel := r.PostForm.Get("channel")
	if channel == "" {
		return nil, list.Bad("channel", "must name a channel of the configuration")
	}
	if err := s.deps.Attend.Test(r.Context(), r.Asker(), channel); err != nil {
		return nil, err
	}
	return web.Redirect{To: s.site.Base + "/alerts?tested=" + url.QueryEscape(channel) + "#channels-title"}, nil
}

// channelsView says how the channels fare, to who may know where notifications go.
func (s pages) channelsView(r *web.Request, now time.Time) templates.ChannelsView {
	if s.deps.Channels == nil || !r.Who.Can(auth.Operator) {
		return templates.ChannelsView{}
	}
	v := templates.ChannelsView{Shown: true}
	ctx, cancel := context.WithTimeout(r.Context(), recordsTimeout)
	defer cancel()
	channels, err := s.deps.Channels.Channels(ctx)
	if err != nil {
		s.deps.Log.Warn("the outbox cannot be read", "err", err)
		v.Missing = templates.Sentence("How the channels fare cannot be read from the journal at the moment.")
		return v
	}
	if s.whyNoAttending(r) == "" {
		v.Test = s.site.Base + "/alerts/test"
	}
	tested := r.URL.Query().Get("tested")
	for _, c := range channels {
		if tested != "" && c.Name == tested {
			v.Note = "The channel " + show.ShortName(c.Name) + " took the message for trial."
		}
		v.Rows = append(v.Rows, channelRow(c, now))
	}
	return v
}

func channelRow(c ChannelState, now time.Time) templates.ChannelRow {
	row := templates.ChannelRow{
		Raw: c.Name, Name: show.Name(c.Name), Kind: show.ShortName(c.Kind), Waiting: templates.Number(c.Waiting),
		Oldest: show.Moment(c.Oldest, now), Success: show.Moment(c.LastSuccess, now), ErrAt: show.Moment(c.LastErrorAt, now),
		Tier: dedup.Normal.String(), Word: "delivers",
	}
	if c.LastError != "" {
		row.Err = show.Statement(c.LastError)
	}
	switch {
	case c.LastError != "" && c.LastErrorAt.After(c.LastSuccess):
		row.Tier, row.Word = dedup.Severe.String(), "refuses"
	case len(c.Faults) > 0:
		row.Tier, row.Word, row.Faults = dedup.Warning.String(), "delivers in part", faultsView(c.Faults, now)
	case c.LastSuccess.IsZero():
		row.Tier, row.Word = dedup.TierUnknown.String(), "never used"
	}
	return row
}

func faultsView(faults []ChannelFault, now time.Time) []templates.ChannelFault {
	var out []templates.ChannelFault
	for _, f := range faults {
		out = append(out, templates.ChannelFault{Receiver: show.Name(f.Receiver), Since: show.Moment(f.Since, now), Text: show.Statement(f.Text)})
	}
	return out
}

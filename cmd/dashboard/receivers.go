package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/alerts/outbox"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/server/page/alert"
)

// A receiver is a channel that notifications go to.
type receiver struct {
	name, kind string
	channel    notify.Channel
}

// faults are those of a channel with several receivers.
func (r receiver) faults() []rule.ReceiverFault {
	if several, ok := r.channel.(interface{ Faults() []rule.ReceiverFault }); ok {
		return several.Faults()
	}
	return nil
}

// receivers are all channels, in the order of the configuration.
type receivers struct {
	all    []receiver
	outbox *outbox.Outbox
	// records keep what was taken past the outbox.
	records *journal.Alerts
	// home is where the dashboard is reached.
	home string
	// heart beats, and pulse tells how; nil where nobody watches for our absence.
	heart *notify.Heartbeat
	pulse func() alerts.Pulse
}

func openReceivers(cfg config.Alerts) (*receivers, error) {
	r := &receivers{}
	if cfg.Heartbeat.On() {
		heart, err := notify.OpenHeartbeat(cfg.Heartbeat)
		if err != nil {
			return nil, unusable("alerts.heartbeat: %w", err)
		}
		r.heart = heart
	}
	for _, cfg := range cfg.Channels {
		channel, err := notify.Open(cfg)
		if err != nil {
			return nil, unusable("alerts.channels: %w", err)
		}
		r.all = append(r.all, receiver{cfg.Name, cfg.Type, channel})
	}
	return r, nil
}

// senders returns the channels by name.
func (r *receivers) senders() map[string]outbox.Sender {
	all := map[string]outbox.Sender{}
	for _, one := range r.all {
		all[one.name] = one.channel
	}
	return all
}

// find returns the channel of a name.
func (r *receivers) find(name string) (receiver, bool) {
	for _, one := range r.all {
		if one.name == name {
			return one, true
		}
	}
	return receiver{}, false
}

// backlog tells how the outbox of these channels stands.
func (r *receivers) backlog(ctx context.Context) (rule.Backlog, error) {
	var names []string
	for _, one := range r.all {
		names = append(names, one.name)
	}
	return r.records.Backlog(ctx, names...)
}

// faults are those of all channels.
func (r *receivers) faults() []rule.ReceiverFault {
	var all []rule.ReceiverFault
	for _, one := range r.all {
		all = append(all, one.faults()...)
	}
	return all
}

// resume tells the channels that ask for it when they last delivered before a restart.
func (r *receivers) resume(ctx context.Context) error {
	stats, err := r.outbox.Stats(ctx)
	if err != nil {
		return err
	}
	for _, s := range stats {
		one, _ := r.find(s.Channel)
		if channel, ok := one.channel.(interface{ Resume(time.Time) }); ok && !s.LastSuccess.IsZero() {
			channel.Resume(s.LastSuccess)
		}
	}
	return nil
}

// Channels tells how the channels fare.
func (r *receivers) Channels(ctx context.Context) ([]alert.ChannelState, error) {
	stats, err := r.outbox.Stats(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]outbox.ChannelStats{}
	for _, s := range stats {
		known[s.Channel] = s
	}
	states := make([]alert.ChannelState, 0, len(r.all))
	for _, one := range r.all {
		s := known[one.name]
		state := alert.ChannelState{
			Name: one.name, Kind: one.kind, Waiting: s.Depth, Oldest: s.Oldest, LastSuccess: s.LastSuccess, LastError: s.LastError, LastErrorAt: s.LastErrorAt,
		}
		for _, f := range one.faults() {
			state.Faults = append(state.Faults, alert.ChannelFault{Receiver: f.Receiver, Text: f.Text, Since: f.Since})
		}
		states = append(states, state)
	}
	if r.pulse != nil {
		p := r.pulse()
		states = append(states, alert.ChannelState{Name: config.HeartbeatName, Kind: "each minute", LastSuccess: p.Beaten, LastError: p.Err, LastErrorAt: p.ErrAt})
	}
	return states, nil
}

// trialBound is how long a page waits for a message for trial: less than the web server takes for an answer.
const trialBound = 25 * time.Second

// SendTest sends a message for trial at once, past the outbox: whoever asks wants to see what becomes of it. It goes on when they have
// gone, since nobody would know then whether it arrived. That it was taken is kept, because it shows that the channel works.
func (r *receivers) SendTest(ctx context.Context, channel, by string) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), trialBound)
	defer cancel()
	if channel == config.HeartbeatName && r.heart != nil {
		return publicDelivery(r.heart.Beat(limited))
	}
	one, ok := r.find(channel)
	if !ok {
		return &dedup.Error{Kind: dedup.NotFound, Public: fmt.Sprintf("There is no channel %q", channel)}
	}
	message := trial(channel, by, r.home)
	if err := one.channel.Send(limited, message); err != nil {
		return publicDelivery(err)
	}
	if err := r.records.Took(context.WithoutCancel(ctx), message, time.Now()); err != nil {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "The message was taken, but that it was cannot be kept; the log says why", Err: err}
	}
	return nil
}

// trial is a message that says no more than that it arrived.
func trial(channel, by, home string) alerts.Notification {
	return alerts.Notification{
		ID: rand.Text(), Channel: channel, Kind: alerts.NotifyTest, At: time.Now().UTC(), ExternalURL: home,
		Text: fmt.Sprintf("%s sent this to see whether notifications arrive here. Nothing is amiss.", by),
	}
}

// publicDelivery returns an error of a channel as one that may be shown.
func publicDelivery(err error) error {
	if refused, ok := errors.AsType[*alerts.DeliveryError](err); ok {
		return &dedup.Error{Kind: dedup.Unavailable, Public: refused.Public, Err: err}
	}
	return err
}

package main

import (
	"context"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/alerting"
	"dedup-dashboard/internal/server/page/alert"
	"dedup-dashboard/lab/demo"
)

// channels tell how the channels of the demo fare.
type channels struct{ alarms *demo.Alarms }

// Channels implements what server.AlertDeps asks for.
func (c channels) Channels(ctx context.Context) ([]alert.ChannelState, error) {
	stats, err := c.alarms.Outbox.Stats(ctx)
	if err != nil {
		return nil, err
	}
	kinds := map[string]string{"night-shift": "webhook", "ops-chat": "slack", "post": "email"}
	var all []alert.ChannelState
	for _, s := range stats {
		all = append(all, alert.ChannelState{Name: s.Channel, Kind: kinds[s.Channel], Waiting: s.Depth, Oldest: s.Oldest,
			LastSuccess: s.LastSuccess, LastError: s.LastError, LastErrorAt: s.LastErrorAt})
	}
	return all, nil
}

// alertDeps put the alarms behind the pages.
func alertDeps(alarms *demo.Alarms, gate *admin.Gate) alert.Deps {
	attend := alerting.New(alerting.Deps{Gate: gate, Acks: alarms.Attention, Silences: alarms.Attention, Channels: alarms})
	return alert.Deps{View: alarms.Engine, Attend: attend, Records: alarms.Attention, Channels: channels{alarms}}
}

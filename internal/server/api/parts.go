package api

import (
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// SharedQueueJSON is a dead-letter queue that is judged by itself.
type SharedQueueJSON struct {
	Subject      string         `json:"subject"`
	Broker       string         `json:"broker"`
	Vhost        string         `json:"vhost"`
	Queue        string         `json:"queue"`
	Pipelines    []string       `json:"pipelines"`
	Queues       []string       `json:"queues"`
	Depth        web.FigureJSON `json:"depth"`
	Inflow       web.FigureJSON `json:"inflow"`
	Acknowledged int64          `json:"acknowledged"`
}

func sharedQueuesOf(snap *dedup.Snapshot, r web.Reading) []SharedQueueJSON {
	all := []SharedQueueJSON{}
	for _, q := range snap.SharedQueues {
		all = append(all, SharedQueueJSON{q.Subject(), q.Broker, q.Vhost, q.Name, append([]string{}, q.Pipelines...), append([]string{}, q.Queues...),
			r.Figure(q.Depth), r.Figure(q.Inflow), q.Acknowledged})
	}
	return all
}

// deathsJSON are the dead letters of a whole broker.
type deathsJSON struct {
	Rejected      web.FigureJSON `json:"rejected_per_hour"`
	Expired       web.FigureJSON `json:"expired_per_hour"`
	MaxLength     web.FigureJSON `json:"maxlen_per_hour"`
	DeliveryLimit web.FigureJSON `json:"delivery_limit_per_hour"`
	Discarded     web.FigureJSON `json:"discarded_last_hour"`
}

// DeathsOf returns nil where the broker is not asked.
func DeathsOf(d *dedup.BrokerDeaths, f func(dedup.Figure) web.FigureJSON) *deathsJSON {
	if d == nil {
		return nil
	}
	of := func(reason string) web.FigureJSON {
		for _, r := range d.Reasons {
			if r.Reason == reason {
				return f(r.PerHour)
			}
		}
		return f(dedup.Unknown(dedup.PerHour, "not counted"))
	}
	return &deathsJSON{of(message.DeathRejected), of(message.DeathExpired), of(message.DeathMaxLength), of(message.DeathDeliveryLimit), f(d.Discarded)}
}

// routeJSON is one way of dead letters.
type routeJSON struct {
	Source     *queueJSON `json:"source"`
	Exchange   string     `json:"exchange"`
	RoutingKey string     `json:"routing_key"`
	KeyKept    bool       `json:"key_kept"`
	Target     *queueJSON `json:"target"`
	Role       string     `json:"role"`
	Certain    bool       `json:"certain"`
	Origin     string     `json:"origin"`
	Note       string     `json:"note"`
}

// queueJSON names a queue.
type queueJSON struct {
	Vhost string `json:"vhost"`
	Queue string `json:"queue"`
}

// RoutesOf writes the ways of the dead letters of a pipeline.
func RoutesOf(p *dedup.PipelineStatus) []routeJSON {
	out := make([]routeJSON, len(p.DeadLetterRoutes))
	for i, r := range p.DeadLetterRoutes {
		out[i] = routeJSON{refOf(r.Source), r.Exchange, r.RoutingKey, r.KeyKept, refOf(r.Target), string(r.Role), r.Certain, r.Origin, r.Note}
	}
	return out
}

// refOf returns nil for no queue.
func refOf(ref dedup.QueueRef) *queueJSON {
	if ref.Name == "" {
		return nil
	}
	return &queueJSON{ref.Vhost, ref.Name}
}

// causeJSON is the likely cause in the API: an inference, with the events that it rests on.
type causeJSON struct {
	Kind   string      `json:"kind"`
	Text   string      `json:"text"`
	Events []eventJSON `json:"events"`
}

// CauseOf writes the likely cause with times in UTC; nil when there is nothing to explain.
func CauseOf(snap *dedup.Snapshot, p show.Judged, late string) *causeJSON {
	c, ok := show.LikelyCause(snap, p, late)
	if !ok {
		return nil
	}
	j := &causeJSON{Kind: string(c.Kind), Text: c.Sentence(time.UTC), Events: []eventJSON{}}
	for _, e := range c.Events {
		j.Events = append(j.Events, eventJSON{web.Time(e.At), e.Kind, e.Text, e.Count})
	}
	return j
}

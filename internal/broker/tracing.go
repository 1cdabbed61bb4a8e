package broker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// tracingAge is how long the list of traced vhosts is believed.
	tracingAge = time.Minute
	// tracingLeft is for how long a vhost is traced until somebody has left it on: longer than any trace of ours, with all that ends one.
	tracingLeft = dedup.MaxTrace + time.Minute
)

// tracedVhosts are the vhosts that were found traced, as they were found at a time, and since when each was.
type tracedVhosts struct {
	at    time.Time
	since map[string]time.Time
}

// leftTracing finds vhosts of which somebody has left tracing on: it costs the broker, and shows every message to whoever may read the firehose.
// What cannot be read tells nothing. The node that answers tells of itself alone.
func (c *Client) leftTracing(ctx context.Context, at time.Time) []dedup.Problem {
	traced := &c.memory.traced
	if age := at.Sub(traced.at); age < 0 || age >= tracingAge {
		since := map[string]time.Time{}
		_, err := collect(ctx, c, "vhosts", "name,tracing", func(r *tracedVhostRow) struct{} {
			if name := string(r.Name); bool(r.Tracing) {
				if since[name] = at; !traced.since[name].IsZero() && age >= 0 {
					since[name] = traced.since[name]
				}
			}
			return struct{}{}
		})
		if err != nil {
			since = nil
		}
		*traced = tracedVhosts{at: at, since: since}
	}
	var problems []dedup.Problem
	for _, vhost := range slices.Sorted(maps.Keys(traced.since)) {
		since := traced.since[vhost]
		if at.Sub(since) < tracingLeft || len(problems) == maxVhostNamed {
			continue
		}
		problems = append(problems, dedup.Problem{
			Kind: ProblemTracingLeftOn,
			Text: fmt.Sprintf("Vhost %s has been traced for %s at least: tracing costs the broker, and shows every message to whoever may read amq.rabbitmq.trace.",
				Quote(vhost), at.Sub(since).Round(time.Minute)),
			Mend: "If nobody needs it any more, run: " + CtlLine("trace_off", "-p", vhost),
		})
	}
	return problems
}

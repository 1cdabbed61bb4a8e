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

// A tracingWatch finds vhosts of which somebody has left tracing on.
type tracingWatch struct {
	api *api
	// since says from when on each vhost was found traced, as of at.
	since map[string]time.Time
	at    time.Time
}

// problems names the vhosts whose tracing was left on: it costs the broker, and shows every message to whoever may read the firehose.
// What cannot be read tells nothing. The node that answers tells of itself alone.
func (w *tracingWatch) problems(ctx context.Context, at time.Time) []dedup.Problem {
	if age := at.Sub(w.at); age < 0 || age >= tracingAge {
		since := map[string]time.Time{}
		_, err := collect(ctx, w.api, "vhosts", "name,tracing", func(r *tracedVhostRow) struct{} {
			if name := string(r.Name); bool(r.Tracing) {
				if since[name] = at; !w.since[name].IsZero() && age >= 0 {
					since[name] = w.since[name]
				}
			}
			return struct{}{}
		})
		if err != nil {
			since = nil
		}
		w.at, w.since = at, since
	}
	var problems []dedup.Problem
	for _, vhost := range slices.Sorted(maps.Keys(w.since)) {
		since := w.since[vhost]
		if at.Sub(since) < tracingLeft || len(problems) == maxVhostNamed {
			continue
		}
		problems = append(problems, dedup.Problem{
			Kind: ProblemTracingLeftOn,
			Text: fmt.Sprintf("Vhost %s has been traced for %s at least: tracing costs the broker, and shows every message to whoever may read amq.rabbitmq.trace.",
				Quote(vhost), at.Sub(since).Round(time.Minute)),
			Remedy: "If nobody needs it any more, run: " + CtlLine("trace_off", "-p", vhost),
		})
	}
	return problems
}

package check

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/broker/amqp"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// tryActing tries the account that may act on the dead letters of a pipeline, and takes and leaves nothing. Its error says what must
// be fixed before dead letters can be moved; it is nil when no acting account is configured.
func tryActing(ctx context.Context, w io.Writer, cfg broker.Config, p dedup.Pipeline, r broker.Report) error {
	mover, err := amqp.OpenMover(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if mover == nil {
		fmt.Fprintf(w, "  dead letters are shown and not moved: broker %s has no act section\n", cfg.Name)
		return nil
	}
	defer mover.Close()
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	targets, _ := topology.DeadLetters(p, &r.Sample, r.Topology)
	var failed []string
	report := func(done string, err error) {
		if err == nil {
			fmt.Fprintf(w, "  acting account %s may %s\n", cfg.Act.Username, done)
			return
		}
		fmt.Fprintf(w, "  PROBLEM acting account %s may not %s\n    %s\n", cfg.Act.Username, done, dedup.PublicText(err))
		failed = append(failed, fmt.Sprintf("acting account may not %s", done))
	}
	report(fmt.Sprintf("publish to queues of vhost %q", p.Vhost), mover.MayPublish(ctx, p.Vhost))
	logged := false
	for _, t := range targets {
		if findQueue(r.Sample.Queues, p.Vhost, t.Name) == nil {
			continue // said already
		}
		err := mover.MayTake(ctx, dedup.QueueRef{Vhost: p.Vhost, Name: t.Name})
		report(fmt.Sprintf("take messages from %q", t.Name), err)
		logged = logged || err == nil
	}
	if logged {
		fmt.Fprintf(w, "  the log of the broker has an [error] of %s about x-priority for each of these queues: it is this trial, which touches no message\n", cfg.Act.Username)
	}
	return toFix(failed)
}

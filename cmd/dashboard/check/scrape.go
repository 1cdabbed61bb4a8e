package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/exports"
	"dedup-dashboard/internal/markers/kinds"
)

// comparedFor is how long check watches what consumers handle beside what the broker counts.
const comparedFor = 15 * time.Second

// An ackCount reads what the broker has counted of a pipeline's acks, not ok where it does not tell; pause is the time between two readings.
type ackCount struct {
	read  func(context.Context) (int64, bool)
	pause time.Duration
}

// readScrape reads the counters that the consumers of a pipeline publish, and reports what is there.
func readScrape(ctx context.Context, w io.Writer, p dedup.Pipeline, cfg exports.Config, acks ackCount) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	fmt.Fprintf(w, "\ncounters of the consumers of %s\n", p.Name)
	reader, err := exports.Open(config.ScrapeName(p.Name), cfg)
	if err != nil {
		return err
	}
	defer reader.Close()
	got, err := reader.Reported(ctx, p.Name)
	switch {
	case err != nil:
		fmt.Fprintf(w, "  NOT READABLE: %v\n", err)
		return errNotReadable
	case got.Exports != nil:
		return readRecipe(ctx, w, reader, got.Exports, acks)
	case !got.Present:
		fmt.Fprintln(w, "  NOTE nothing is reported yet: no series has the metric and the labels of the configuration")
		return nil
	}
	printReported(w, got)
	return nil
}

// readRecipe reports what a recipe finds, and what consumers handle beside what the broker counts meanwhile.
func readRecipe(ctx context.Context, w io.Writer, reader *exports.Reader, e *dedup.Exports, acks ackCount) error {
	fmt.Fprintf(w, "  recipe %s (%s): processes %d, series of each up to %d\n", e.Recipe, e.Framework, e.Instances, e.Series)
	if len(e.Queues) > 0 {
		fmt.Fprintf(w, "  queues that its series name: %q\n", e.Queues)
	}
	if e.Why != "" {
		fmt.Fprintf(w, "  PROBLEM %s\n", e.Why)
		return errors.New("its recipe finds nothing")
	}
	for _, d := range []struct {
		name string
		*dedup.Distribution
	}{{"ack latency", e.Ack}, {"work time", e.Work}} {
		switch {
		case d.Distribution == nil:
		case len(d.Bounds) > 0:
			fmt.Fprintf(w, "  %s is exported with %s\n", d.name, amount(len(d.Bounds), "bucket"))
		default:
			fmt.Fprintf(w, "  %s is exported as a mean alone\n", d.name)
		}
	}
	if e.HasDuplicates {
		fmt.Fprintln(w, "  duplicates are counted by the framework")
	}
	before, counts := acks.read(ctx)
	began := time.Now()
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(acks.pause):
	}
	after, still := acks.read(ctx)
	now, err := reader.Reported(ctx, "")
	if err != nil {
		fmt.Fprintf(w, "  NOT READABLE: %v\n", err)
		return errNotReadable
	}
	broker := "the broker does not tell its acks"
	if counts && still {
		broker = fmt.Sprintf("the broker counted %s, up to 5 s late", amount(after-before, "ack"))
	}
	fmt.Fprintf(w, "  in %.0f s consumers handled %s and failed at %s; %s\n"+
		"    serve holds the two to each other over a rest, and shows nothing of a recipe that does not agree\n",
		time.Since(began).Seconds(), amount(int64(now.Exports.Handled-e.Handled), "message"), amount(int64(now.Exports.Failed-e.Failed), "message"), broker)
	return nil
}

// acksOf counts the acks of a pipeline's queues.
func acksOf(cfg broker.Config, p dedup.Pipeline) func(context.Context) (int64, bool) {
	return func(ctx context.Context) (int64, bool) {
		client, err := broker.New(cfg)
		if err != nil {
			return 0, false
		}
		defer client.Close()
		sample, err := client.Sample(ctx)
		sum, found := int64(0), 0
		for i := range sample.Queues {
			q := &sample.Queues[i]
			if q.Vhost != p.Vhost || !slices.Contains(p.Queues, q.Name) {
				continue
			}
			found++
			if q.Counters.Ack != nil {
				sum += *q.Counters.Ack
			}
		}
		return sum, err == nil && found == len(p.Queues)
	}
}

// readReported reads the counters that the consumers of a pipeline keep in a store, and reports which outcomes are there.
func readReported(ctx context.Context, w io.Writer, log *slog.Logger, p dedup.Pipeline, cfg markers.Config) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	store, err := kinds.Open(cfg, log)
	if err != nil {
		return err
	}
	defer store.Close()
	fmt.Fprintf(w, "\ncounters of the consumers of %s\n", p.Name)
	got, err := store.Reported(ctx, p.Name)
	if err != nil {
		fmt.Fprintf(w, "  NOT READABLE: %v\n", err)
		return errNotReadable
	}
	switch {
	case got.Present:
		printReported(w, got)
	case cfg.Name == p.Store:
		// Nobody need have asked for these counters: they are looked for in the store of the pipeline without a setting.
		fmt.Fprintf(w, "  none: nothing is under dedupstats:%s in store %s, where they are looked for by default\n"+
			"    consumers need not report any; where they do elsewhere, name the place in reported of the pipeline\n", p.Name, cfg.Name)
	default:
		fmt.Fprintf(w, "  NOTE nothing is reported under dedupstats:%s in store %s, which reported of the pipeline names\n", p.Name, cfg.Name)
	}
	return nil
}

func printReported(w io.Writer, got dedup.Reported) {
	for _, outcome := range dedup.ReportedOutcomes() {
		if _, ok := got.Outcomes[outcome]; ok {
			fmt.Fprintf(w, "  %s is counted\n", outcome)
		}
	}
	for _, latency := range []struct {
		name   string
		counts dedup.LatencyCounts
	}{{"ack latency", got.Ack}, {"processing time", got.Work}} {
		if latency.counts.Buckets != nil {
			fmt.Fprintf(w, "  %s is reported as a distribution\n", latency.name)
		}
	}
}

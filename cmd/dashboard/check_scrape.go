package main

import (
	"context"
	"fmt"
	"io"

	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/exports"
)

// checkScrape reads the counters that the consumers of a pipeline publish, and reports which outcomes are there.
func checkScrape(ctx context.Context, w io.Writer, p dedup.Pipeline, cfg exports.Config) error {
	ctx, cancel := context.WithTimeout(ctx, checkBound)
	defer cancel()
	fmt.Fprintf(w, "\ncounters of the consumers of %s\n", p.Name)
	scrape, err := exports.Open(config.ScrapeName(p.Name), cfg)
	if err != nil {
		return err
	}
	defer scrape.Close()
	got, err := scrape.Reported(ctx, p.Name)
	if err != nil {
		fmt.Fprintf(w, "  NOT READABLE: %v\n", err)
		return errNotReadable
	}
	if !got.Present {
		fmt.Fprintln(w, "  NOTE nothing is reported yet: no series has the metric and the labels of the configuration")
		return nil
	}
	printReported(w, got)
	return nil
}

// checkReported reads the counters that the consumers of a pipeline keep in a store, and reports which outcomes are there.
func checkReported(ctx context.Context, io streams, p dedup.Pipeline, cfg markers.Config) error {
	ctx, cancel := context.WithTimeout(ctx, checkBound)
	defer cancel()
	store, err := markers.Open(cfg, newLog(io.err))
	if err != nil {
		return err
	}
	defer store.Close()
	fmt.Fprintf(io.out, "\ncounters of the consumers of %s\n", p.Name)
	got, err := store.Reported(ctx, p.Name)
	if err != nil {
		fmt.Fprintf(io.out, "  NOT READABLE: %v\n", err)
		return errNotReadable
	}
	switch {
	case got.Present:
		printReported(io.out, got)
	case cfg.Name == p.Store:
		// Nobody need have asked for these counters: they are looked for in the store of the pipeline without a setting.
		fmt.Fprintf(io.out, "  none: nothing is under dedupstats:%s in store %s, where they are looked for by default\n"+
			"    consumers need not report any; where they do elsewhere, name the place in reported of the pipeline\n", p.Name, cfg.Name)
	default:
		fmt.Fprintf(io.out, "  NOTE nothing is reported under dedupstats:%s in store %s, which reported of the pipeline names\n", p.Name, cfg.Name)
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

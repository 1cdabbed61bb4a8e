package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/kinds"
)

// checkBound is how long the look at one broker or store may take.
const checkBound = 60 * time.Second

// sampleKeys is how many markers of each store are decoded and shown.
const sampleKeys = 20

// check validates the configuration, connects read-only to everything in it and reports what it finds, so that a mapping
// can be trusted before it is used. A PROBLEM makes it fail; a NOTE and a FINDING, which is a hazard of how the system
// is built, do not.
func check(ctx context.Context, args []string, io streams) error {
	cfg, err := loadConfig("check", args, io)
	if err != nil {
		return err
	}
	io.out = plainWriter{io.out}
	fmt.Fprintf(io.out, "configuration: valid, %s, %s, %s\n",
		amount(len(cfg.Brokers), "broker"), amount(len(cfg.Stores), "store"), amount(len(cfg.Pipelines), "pipeline"))
	failed := checkAll(ctx, cfg, io)
	printAlerts(io.out, cfg)
	if len(failed) == 0 {
		fmt.Fprintln(io.out, "\nnothing needs mending")
		return nil
	}
	fmt.Fprintf(io.out, "\n%s mending\n", needs(len(failed)))
	return errors.New("check found what needs mending: " + strings.Join(failed, "; "))
}

// checkAll looks at every broker, store and pipeline, and returns what needs mending.
func checkAll(ctx context.Context, cfg *config.Config, io streams) (failed []string) {
	fail := func(what, name string, err error) {
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s %s: %s", what, name, strings.ReplaceAll(err.Error(), "\n", ", ")))
		}
	}
	brokers, actors := map[string]broker.Report{}, map[string]broker.Config{}
	for _, b := range cfg.Brokers {
		actors[b.Name] = b
		report, err := checkBroker(ctx, b)
		if err != nil {
			fmt.Fprintf(io.out, "\nbroker %s: NOT READABLE\n  %s\n", b.Name, strings.TrimPrefix(err.Error(), "broker "+b.Name+": "))
			fail("broker", b.Name, errNotReadable)
			continue
		}
		brokers[b.Name] = report
		fail("broker", b.Name, printBroker(io.out, b.Name, report))
		printTimeout(io.out, b, cfg.Collector)
		fail("broker", b.Name, checkLog(ctx, io.out, b))
	}
	stores := map[string]markers.Config{} // those that may hold reported counters and can be read
	for _, s := range cfg.Stores {
		report, err := checkStore(ctx, s, io.err)
		if err != nil {
			fmt.Fprintf(io.out, "\nstore %s: NOT READABLE\n  %v\n", s.Name, err)
			fail("store", s.Name, errNotReadable)
			continue
		}
		fail("store", s.Name, printStore(io.out, s, report))
		printSharers(io.out, s, cfg.Stores)
		if s.Table == "" && len(report.Missing) == 0 {
			stores[s.Name] = s
		}
	}
	for _, e := range cfg.Effects {
		fail("effect check of", e.Pipeline, checkEffects(ctx, io.out, e))
	}
	for _, p := range cfg.Pipelines {
		if scrape, ok := cfg.Scrapes[p.ReportedStore]; ok {
			fail("counters of", p.Name, checkScrape(ctx, io.out, p, scrape, ackCount{acksOf(actors[p.Broker], p), comparedFor}))
		} else if store, ok := stores[p.ReportedStore]; ok {
			fail("counters of", p.Name, checkReported(ctx, io, p, store))
		}
		report, readable := brokers[p.Broker]
		if !readable {
			fmt.Fprintf(io.out, "\npipeline %s: not checked, its broker %s is not readable\n", p.Name, p.Broker)
			continue
		}
		fail("pipeline", p.Name, printPipeline(io.out, p, report))
		printSources(io.out, p, cfg.Stores)
		fail("pipeline", p.Name, checkActing(ctx, io.out, actors[p.Broker], p, report))
	}
	return failed
}

// errNotReadable stands for what was printed of a broker or store that cannot be read.
var errNotReadable = errors.New("not readable")

// amount is a number with its noun: 1 broker, 2 brokers.
func amount[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func needs(n int) string {
	if n == 1 {
		return "1 thing needs"
	}
	return fmt.Sprintf("%d things need", n)
}

func checkBroker(ctx context.Context, cfg broker.Config) (broker.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, checkBound)
	defer cancel()
	client, err := broker.New(cfg)
	if err != nil {
		return broker.Report{}, err
	}
	return client.Check(ctx)
}

func checkStore(ctx context.Context, cfg markers.Config, log io.Writer) (markers.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, checkBound)
	defer cancel()
	store, err := kinds.Open(cfg, newLog(log))
	if err != nil {
		return markers.Report{}, err
	}
	defer store.Close()
	return store.Check(ctx, sampleKeys)
}

// printBroker reports what a broker tells this account. Its error says what must be mended before the broker can be watched.
func printBroker(w io.Writer, name string, r broker.Report) error {
	info := r.Sample.Info
	fmt.Fprintf(w, "\nbroker %s: RabbitMQ %s, cluster %s, node %s\n", name, info.Version, info.Cluster, info.Node)
	fmt.Fprintf(w, "  account %s, tags %s\n", r.User, strings.Join(r.Tags, ", "))
	fmt.Fprintf(w, "  statistics: rates mode %s, %s\n", orNone(info.RatesMode), statistics(info))
	total := "unknown"
	if r.Sample.QueuesTotal != nil {
		total = fmt.Sprint(*r.Sample.QueuesTotal)
	}
	fmt.Fprintf(w, "  queues: %d visible of %s\n", len(r.Sample.Queues), total)
	var failed []string
	for _, p := range r.Sample.Problems {
		label := "PROBLEM"
		if passing(p.Kind) {
			label = "NOTE"
		} else {
			failed = append(failed, p.Kind)
		}
		fmt.Fprintf(w, "  %s %s: %s\n    mend: %s\n", label, p.Kind, p.Text, p.Mend)
	}
	if err := printNodes(w, r.Sample); err != nil {
		failed = append(failed, err.Error())
	}
	if len(failed) > 0 {
		return errors.New(strings.Join(failed, ", "))
	}
	return nil
}

// passing reports whether a problem of a broker is none of its configuration: one that passes, or queues that are hidden,
// which matters only where a pipeline names one; then it is missing there.
func passing(kind string) bool {
	switch kind {
	case broker.ProblemPermissionMissing, broker.ProblemPartialAnswer, broker.ProblemStatsLate, broker.ProblemNodesUnreadable:
		return true
	}
	return false
}

func statistics(info dedup.BrokerInfo) string {
	switch {
	case info.StatsDisabled && info.QueueTotals:
		return "disabled, depths only"
	case info.StatsDisabled:
		return "disabled"
	default:
		return "enabled"
	}
}

func orNone(s string) string {
	if s == "" {
		return "none told"
	}
	return s
}

// table returns a writer that aligns columns; it must be flushed.
func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 2, 4, 2, ' ', 0) }

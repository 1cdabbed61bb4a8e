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
)

// checkBound is how long the look at one broker or store may take.
const checkBound = 60 * time.Second

// sampleKeys is how many markers of each store are decoded and shown.
const sampleKeys = 20

// check validates the configuration, connects read-only to everything in it and reports what it finds, so that a mapping
// can be trusted before it is used.
func check(ctx context.Context, args []string, io streams) error {
	cfg, err := loadConfig("check", args, io)
	if err != nil {
		return err
	}
	io.out = plainWriter{io.out}
	fmt.Fprintf(io.out, "configuration: valid, %d brokers, %d stores, %d pipelines\n",
		len(cfg.Brokers), len(cfg.Stores), len(cfg.Pipelines))
	var failed []error
	queues := map[string][]dedup.Queue{}
	for _, b := range cfg.Brokers {
		report, err := checkBroker(ctx, b)
		if err != nil {
			fmt.Fprintf(io.out, "\nbroker %s: NOT READABLE\n  %v\n", b.Name, err)
			failed = append(failed, fmt.Errorf("broker %s", b.Name))
			continue
		}
		queues[b.Name] = report.Sample.Queues
		printBroker(io.out, b.Name, report)
	}
	for _, s := range cfg.Stores {
		report, err := checkStore(ctx, s, io.err)
		if err != nil {
			fmt.Fprintf(io.out, "\nstore %s: NOT READABLE\n  %v\n", s.Name, err)
			failed = append(failed, fmt.Errorf("store %s", s.Name))
			continue
		}
		printStore(io.out, s, report)
	}
	failed = append(failed, printPipelines(io.out, cfg, queues)...)
	if len(failed) > 0 {
		return fmt.Errorf("check found what needs mending: %w", errors.Join(failed...))
	}
	return nil
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
	store, err := markers.Open(cfg, newLog(log))
	if err != nil {
		return markers.Report{}, err
	}
	defer store.Close()
	return store.Check(ctx, sampleKeys)
}

func printBroker(w io.Writer, name string, r broker.Report) {
	info := r.Sample.Info
	fmt.Fprintf(w, "\nbroker %s: RabbitMQ %s, cluster %s, node %s\n", name, info.Version, info.Cluster, info.Node)
	fmt.Fprintf(w, "  account %s, tags %s\n", r.User, strings.Join(r.Tags, ", "))
	fmt.Fprintf(w, "  statistics: rates mode %s, %s\n", orNone(info.RatesMode), statistics(info))
	total := "unknown"
	if r.Sample.QueuesTotal != nil {
		total = fmt.Sprint(*r.Sample.QueuesTotal)
	}
	fmt.Fprintf(w, "  queues: %d visible of %s\n", len(r.Sample.Queues), total)
	for _, p := range r.Sample.Problems {
		fmt.Fprintf(w, "  PROBLEM %s: %s\n    mend: %s\n", p.Kind, p.Text, p.Mend)
	}
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

// printPipelines reports the queues of each pipeline that its broker does not show.
func printPipelines(w io.Writer, cfg *config.Config, queues map[string][]dedup.Queue) []error {
	var failed []error
	for _, p := range cfg.Pipelines {
		visible, readable := queues[p.Broker]
		if !readable {
			continue
		}
		fmt.Fprintf(w, "\npipeline %s\n", p.Name)
		for _, want := range append(append([]string(nil), p.Queues...), p.DeadLetterQueues...) {
			q := findQueue(visible, p.Vhost, want)
			if q == nil {
				fmt.Fprintf(w, "  queue %q: NOT FOUND in vhost %q; it does not exist or permissions hide it\n", want, p.Vhost)
				failed = append(failed, fmt.Errorf("pipeline %s: queue %q not found", p.Name, want))
				continue
			}
			fmt.Fprintf(w, "  queue %q: %s, %s messages, %s consumers\n", want, q.Type, number(q.Messages), number(q.Consumers))
		}
	}
	return failed
}

func findQueue(queues []dedup.Queue, vhost, name string) *dedup.Queue {
	for i := range queues {
		if queues[i].Vhost == vhost && queues[i].Name == name {
			return &queues[i]
		}
	}
	return nil
}

func number(v *int64) string {
	if v == nil {
		return "an unknown number of"
	}
	return fmt.Sprint(*v)
}

// table returns a writer that aligns columns; it must be flushed.
func table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 2, 4, 2, ' ', 0) }

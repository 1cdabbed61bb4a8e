// Package check connects to everything in a configuration, read-only, and prints what it finds.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/markers"
)

// bound is how long the look at one broker or store may take.
const bound = 60 * time.Second

// errNotReadable stands for what was printed of a broker or store that cannot be read.
var errNotReadable = errors.New("not readable")

// Run prints what it finds of each broker, store, pipeline and alert rule, so that a mapping can be trusted before it is used.
// A PROBLEM makes it fail; a NOTE and a FINDING, which is a hazard of how the system is built, do not. What servers say is
// printed as it is: out must make it fit for a terminal.
func Run(ctx context.Context, cfg *config.Config, out io.Writer, log *slog.Logger) error {
	fmt.Fprintf(out, "configuration: valid, %s, %s, %s\n",
		amount(len(cfg.Brokers), "broker"), amount(len(cfg.Stores), "store"), amount(len(cfg.Pipelines), "pipeline"))
	c := &checker{cfg: cfg, out: out, log: log, brokers: make(map[string]broker.Report), counted: make(map[string]markers.Config)}
	c.checkBrokers(ctx)
	c.checkStores(ctx)
	for _, e := range cfg.Effects {
		c.addFailure("effect check of", e.Pipeline, tryEffects(ctx, out, e))
	}
	c.checkPipelines(ctx)
	printAlerts(out, cfg)
	if len(c.failed) == 0 {
		fmt.Fprintln(out, "\nnothing needs fixing")
		return nil
	}
	fmt.Fprintf(out, "\n%s fixing\n", needs(len(c.failed)))
	return errors.New("check found what needs fixing: " + strings.Join(c.failed, "; "))
}

// A checker goes through a configuration and keeps what needs fixing.
type checker struct {
	cfg     *config.Config
	out     io.Writer
	log     *slog.Logger
	failed  []string
	brokers map[string]broker.Report  // those that can be read
	counted map[string]markers.Config // stores that can be read and may hold reported counters
}

// addFailure keeps an error, if there is one, with the name of what it is about.
func (c *checker) addFailure(what, name string, err error) {
	if err != nil {
		c.failed = append(c.failed, fmt.Sprintf("%s %s: %s", what, name, strings.ReplaceAll(err.Error(), "\n", ", ")))
	}
}

func (c *checker) checkBrokers(ctx context.Context) {
	for _, b := range c.cfg.Brokers {
		report, err := readBroker(ctx, b)
		if err != nil {
			fmt.Fprintf(c.out, "\nbroker %s: NOT READABLE\n  %s\n", b.Name, strings.TrimPrefix(err.Error(), "broker "+b.Name+": "))
			c.addFailure("broker", b.Name, errNotReadable)
			continue
		}
		c.brokers[b.Name] = report
		c.addFailure("broker", b.Name, printBroker(c.out, b.Name, report))
		c.addFailure("broker", b.Name, tryManagement(ctx, c.out, b))
		printTimeout(c.out, b, c.cfg.Collector)
		c.addFailure("broker", b.Name, tryLog(ctx, c.out, b))
	}
}

func (c *checker) checkStores(ctx context.Context) {
	for _, s := range c.cfg.Stores {
		report, err := readStore(ctx, s, c.log)
		if err != nil {
			fmt.Fprintf(c.out, "\nstore %s: NOT READABLE\n  %v\n", s.Name, err)
			c.addFailure("store", s.Name, errNotReadable)
			continue
		}
		c.addFailure("store", s.Name, printStore(c.out, s, report))
		printSharers(c.out, s, c.cfg.Stores)
		if s.Table == "" && len(report.Missing) == 0 {
			c.counted[s.Name] = s
		}
	}
}

// checkPipelines comes after brokers and stores, whose reports it needs.
func (c *checker) checkPipelines(ctx context.Context) {
	brokers, tried := map[string]broker.Config{}, map[string]bool{}
	for _, b := range c.cfg.Brokers {
		brokers[b.Name] = b
	}
	for _, p := range c.cfg.Pipelines {
		if scrape, ok := c.cfg.Scrapes[p.ReportedStore]; ok {
			c.addFailure("counters of", p.Name, readScrape(ctx, c.out, p, scrape, ackCount{acksOf(brokers[p.Broker], p), comparedFor}))
		} else if store, ok := c.counted[p.ReportedStore]; ok {
			c.addFailure("counters of", p.Name, readReported(ctx, c.out, c.log, p, store))
		}
		report, readable := c.brokers[p.Broker]
		if !readable {
			fmt.Fprintf(c.out, "\npipeline %s: not checked, its broker %s is not readable\n", p.Name, p.Broker)
			continue
		}
		c.addFailure("pipeline", p.Name, printPipeline(c.out, p, report))
		printSources(c.out, p, c.cfg.Stores)
		if !tried[p.Broker] {
			tried[p.Broker] = true
			c.addFailure("broker", p.Broker, tryNodes(ctx, c.out, brokers[p.Broker], p.Vhost))
		}
		c.addFailure("pipeline", p.Name, tryActing(ctx, c.out, brokers[p.Broker], p, report))
	}
}

// amount is a number with its noun: 1 broker, 2 brokers.
func amount[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// toFix is the error of what failed; nil where nothing did.
func toFix(failed []string) error {
	if len(failed) == 0 {
		return nil
	}
	return errors.New(strings.Join(failed, ", "))
}

func needs(n int) string {
	if n == 1 {
		return "1 thing needs"
	}
	return fmt.Sprintf("%d things need", n)
}

func orNone(s string) string {
	return cmp.Or(s, "none told")
}

// Command bench measures the figures that the product promises and compares each with its target. It prints one line
// per figure: name, value, unit, target, and ok or short. A figure that falls short is a result; only one that could not
// be measured ends the program with a code other than 0.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A group measures figures that share their preparation.
type group struct {
	name    string
	measure func(context.Context, *bench) error
}

func groups() []group {
	return []group{
		{"history", measureHistory},
		{"markers", measureMarkers},
		{"events", measureEvents},
		{"rows", measureRows},
		{"stuck", measureStuck},
		{"preflight", measurePreflight},
		{"broker", measureBroker},
		{"live", measureLive},
		{"trace", measureTrace},
		{"requeue", measureRequeue},
		{"overview", measureOverview},
		{"alerts", measureAlerts},
		{"shop", measureShop},
		{"program", measureProgram},
	}
}

// bench is one run.
type bench struct {
	// folder is a temporary folder for everything the run writes.
	folder string
	// rest is how long the program runs before its memory is read.
	rest  time.Duration
	table *table
	// notes says what is being prepared.
	notes io.Writer
}

func (b *bench) note(format string, args ...any) {
	fmt.Fprintf(b.notes, "... "+format+"\n", args...)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	if mode := os.Getenv(childMode); mode != "" {
		return runChild(ctx, mode, args)
	}
	var names []string
	for _, g := range groups() {
		names = append(names, g.name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", strings.Join(names, ","), "groups of figures to measure, separated by commas")
	rest := flags.Duration("rest", 10*time.Minute, "how long the program runs before its memory is read")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	wanted := strings.Split(*only, ",")
	for _, w := range wanted {
		if !slices.Contains(names, w) {
			fmt.Fprintf(os.Stderr, "bench: there is no group %q; there are %s\n", w, strings.Join(names, ", "))
			return 2
		}
	}
	folder, err := os.MkdirTemp("", "dedup-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	defer os.RemoveAll(folder)
	b := &bench{folder: folder, rest: *rest, table: &table{out: os.Stdout}, notes: os.Stderr}
	return b.measure(ctx, wanted)
}

func (b *bench) measure(ctx context.Context, wanted []string) (code int) {
	b.table.head()
	for _, g := range groups() {
		if !slices.Contains(wanted, g.name) {
			continue
		}
		if err := g.measure(ctx, b); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s could not be measured: %v\n", g.name, err)
			code = 1
		}
	}
	return code
}

// Command bench runs real consumers of every scheme with exact troubles, compares each figure of the dashboard with what the
// consumers counted, prints the comparison, and writes its table into docs/accuracy.md. It ends with code 1 when a figure was wrong,
// when too few rows are good, or when too few of the figures in mid-run hold the truth.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"dedup-dashboard/lab/truth"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, notes io.Writer) int {
	flags := flag.NewFlagSet("truth", flag.ContinueOnError)
	flags.SetOutput(notes)
	o := truth.Options{Notes: notes, Log: slog.New(slog.DiscardHandler)}
	flags.IntVar(&o.Seeds, "seeds", 3, "how many seeds to run, one after the other")
	flags.IntVar(&o.Messages, "messages", 18_000, "how many messages each case has")
	flags.DurationVar(&o.Over, "over", 15*time.Minute, "the time over which the messages of a case are spread")
	flags.DurationVar(&o.Interval, "interval", 5*time.Second, "the time between two readings of the observer, from 1s on")
	names := flags.String("cases", "", "the cases to run, separated by commas; all when empty")
	page := flags.String("out", "", "the page whose table is rewritten, as docs/accuracy.md; none when empty")
	log := flags.Bool("log", false, "print what the observer logs")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *log {
		o.Log = slog.New(slog.NewTextHandler(notes, nil))
	}
	var err error
	if o.Cases, err = truth.Select(strings.FieldsFunc(*names, func(r rune) bool { return r == ',' })); err != nil {
		fmt.Fprintln(notes, "truth:", err)
		return 2
	}
	o.Each = func(one truth.Outcome) { one.Print(out) }
	result, err := truth.Run(ctx, o)
	result.Print(out)
	if err != nil {
		fmt.Fprintln(notes, "truth:", err)
		return 1
	}
	if *page != "" {
		if err := result.Rewrite(*page); err != nil {
			fmt.Fprintln(notes, "truth:", err)
			return 1
		}
	}
	if len(result.Failures()) > 0 {
		return 1
	}
	return 0
}

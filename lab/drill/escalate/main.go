// Command escalate turns the duplicates of a sample shop up and back, to 2, 5 and 15 % and to none again, and watches what the dashboard
// makes of it: the tiers follow in order and fall only below 80 % of their limit, and a receiver is told of every edge once. It prints the
// times as a table, and ends with code 1 when something was not so. It takes about 20 minutes, because a window of 5 minutes is judged.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, notes io.Writer) int {
	flags := flag.NewFlagSet("escalate", flag.ContinueOnError)
	flags.SetOutput(notes)
	calm := flags.Duration("calm", 2*time.Minute, "how long the shop runs without duplicates at first")
	patience := flags.Duration("patience", 8*time.Minute, "how long a tier may take")
	times := timing{}
	flags.DurationVar(&times.enter, "for", 15*time.Second, "how long a limit must be reached")
	flags.DurationVar(&times.leave, "keep", 30*time.Second, "how long the rate must be below what holds a tier")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := escalate(ctx, *calm, *patience, times, out, notes); err != nil {
		fmt.Fprintln(notes, "escalate:", err)
		return 1
	}
	return 0
}

func escalate(ctx context.Context, calm, patience time.Duration, times timing, out, notes io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "escalate-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := openSite(ctx, dir, 0, times)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(context.WithoutCancel(ctx))) }()
	c := &climb{site: s, patience: patience, notes: notes, seen: make(map[time.Time]evaluation)}
	if err := c.run(ctx, calm); err != nil {
		return err
	}
	fmt.Fprintln(out, c.table())
	wrong, err := c.faults(ctx)
	if err != nil {
		return err
	}
	for _, fault := range wrong {
		err = errors.Join(err, errors.New(fault))
	}
	return err
}

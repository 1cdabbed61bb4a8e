// Command strangers tries the dashboard with consumers that its makers have not seen: some forty pipelines in four batches, each with a
// ledger of what truly happened, beside the real program. It writes ledgers and all that the API said into a folder, and judges it.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

type options struct {
	batch               int
	out, only, interval string
	span, rest, head    time.Duration
	program, judge      string
}

// names are those of -only.
func (o options) names() []string {
	if o.only == "" {
		return nil
	}
	return strings.Split(o.only, ",")
}

func main() {
	var o options
	flag.IntVar(&o.batch, "batch", 1, "which pipelines: 1, 2, 3 or 4 (4: what was found)")
	flag.StringVar(&o.out, "out", filepath.Join(os.TempDir(), "dedup-strangers"), "folder of servers and results; emptied first")
	flag.StringVar(&o.only, "only", "", "names of pipelines, with commas")
	flag.StringVar(&o.interval, "interval", "5s", "collector.interval")
	flag.DurationVar(&o.span, "for", 390*time.Second, "how long messages are sent")
	flag.DurationVar(&o.rest, "rest", 40*time.Second, "how long is watched after that")
	flag.DurationVar(&o.head, "head", -5*time.Second, "when traffic begins after the dashboard (negative), or before it (positive)")
	flag.StringVar(&o.program, "program", "", "the dashboard; built if empty")
	flag.StringVar(&o.judge, "judge", "", "only judge the results in this folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := act(ctx, o); err != nil {
		log.Fatal(err)
	}
}

// act makes a run, if none is there to be judged, and judges it.
func act(ctx context.Context, o options) error {
	if o.judge == "" {
		if err := run(ctx, o); err != nil {
			return err
		}
		o.judge = o.out
	}
	return judge(o.judge, os.Stdout)
}

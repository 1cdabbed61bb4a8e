// Command playground runs the dashboard over a sample shop on a private RabbitMQ and a private Redis, to look around
// in and to learn from. It keeps everything in one folder and stops everything it started.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"dedup-dashboard/lab/shop"
)

func main() {
	options := shop.Options{Config: shop.DefaultConfig(), Out: os.Stdout}
	flag.StringVar(&options.Dir, "dir", ".playground", "folder for data, logs and configuration")
	flag.StringVar(&options.Dashboard, "dashboard", "./bin/dashboard", "path of the dashboard's program")
	flag.StringVar(&options.Listen, "listen", "127.0.0.1:8080", "wanted address of the dashboard; another port is taken if it is in use")
	flag.DurationVar(&options.Duration, "duration", 0, "stop after this time; 0 means at Ctrl-C")
	flag.Uint64Var(&options.Config.Seed, "seed", options.Config.Seed, "the same seed gives every message the same fate")
	flag.Func("only", "open only these pipelines, as in -only shipping,orders", options.Config.Only)
	flag.Func("set", "turn a knob, as in -set orders.resend=0.05 or -set '*.rate=50'; may be repeated.\nknobs: "+
		strings.Join(shop.KnobNames(), " "), options.Config.Set)
	rabbit := flag.String("rabbitmq", "", "run the shop on a newer RabbitMQ, 4.0 or 4.3 (4 is the newest), which scripts/servers installs in a folder of its own: needs Debian and root")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "playground: unknown argument %q; see playground -h\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(options, *rabbit); err != nil {
		fmt.Fprintln(os.Stderr, "playground:", err)
		os.Exit(1)
	}
}

// newer installs the servers of a newer Debian, which takes minutes the first time, and returns their folder.
func newer(version string) (string, error) {
	suite, ok := map[string]string{"4.0": "trixie", "4.3": "sid", "4": "sid"}[version]
	if !ok {
		return "", fmt.Errorf("-rabbitmq %s: there are 4, 4.0 and 4.3", version)
	}
	command := exec.Command("scripts/servers", suite)
	command.Stderr = os.Stderr
	folder, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("scripts/servers %s: %w", suite, err)
	}
	return strings.TrimSpace(string(folder)), nil
}

func run(options shop.Options, rabbit string) (err error) {
	if rabbit != "" {
		if options.RabbitMQRoot, err = newer(rabbit); err != nil {
			return err
		}
	}
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer restore()
	// A second Ctrl-C ends the playground at once, and with it, on Linux, all it started.
	context.AfterFunc(ctx, restore)
	return shop.Up(ctx, options)
}

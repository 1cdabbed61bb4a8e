// Matrix runs the tests that need a server on servers of several versions, and writes what it saw into a table of docs/servers.md.
//
// What was run at the same commit before is not run again, so that a run that was broken off goes on where it was.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("matrix", flag.ContinueOnError)
	only := flags.String("only", "", "run the servers alone whose names contain one of these texts, separated by commas")
	results := flags.String("results", "test-results/matrix", "folder of what was run")
	out := flags.String("out", "docs/servers.md", "file whose table is written")
	if err := flags.Parse(args); err != nil {
		return err
	}
	commit, err := commitOf(ctx)
	if err != nil {
		return err
	}
	book := book{folder: *results, commit: commit}
	var failed []error
	for _, s := range servers() {
		if wanted(s.name, *only) {
			failed = append(failed, s.run(ctx, book))
		}
	}
	if err := writeTable(*out, book); err != nil {
		return err
	}
	return errors.Join(failed...)
}

func wanted(name, only string) bool {
	if only == "" {
		return true
	}
	for part := range strings.SplitSeq(only, ",") {
		if strings.Contains(name, strings.TrimSpace(part)) {
			return true
		}
	}
	return false
}

// commitOf names what is tested; with changes that are not committed it is different each time.
func commitOf(ctx context.Context) (string, error) {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("ask git for the commit: %w", err)
	}
	dirty, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", "*.go", "go.mod").Output()
	if err != nil {
		return "", fmt.Errorf("ask git for changes: %w", err)
	}
	if len(dirty) > 0 {
		return fmt.Sprintf("%s+%d", strings.TrimSpace(string(head)), os.Getpid()), nil
	}
	return strings.TrimSpace(string(head)), nil
}

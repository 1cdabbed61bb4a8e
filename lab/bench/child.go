package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// childMode tells the program to play the part of another process, one that can be killed or whose memory is measured.
const childMode = "DEDUP_BENCH_CHILD"

func child(ctx context.Context, mode string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), childMode+"="+mode)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

func runChild(ctx context.Context, mode string, args []string) int {
	part, ok := map[string]func(context.Context, []string) error{
		"write history": writeHistory,
		"open history":  openHistory,
		followMode:      followEvents,
		hearMode:        hearEvents,
		readMode:        readLive,
	}[mode]
	if !ok {
		fmt.Fprintf(os.Stderr, "bench: no child %q\n", mode)
		return 2
	}
	if err := part(ctx, args); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

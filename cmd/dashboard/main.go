// Command dashboard watches the duplicate rates, ack latencies and dead letters of idempotent RabbitMQ consumers.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// The exit codes. Code 2 means that it cannot work as called or configured, so that trying again is of no use.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

const usage = `dashboard watches the duplicate rates, ack latencies and dead letters of idempotent RabbitMQ consumers.

  dashboard serve -config FILE    run the dashboard
  dashboard check -config FILE    check the configuration, connect read-only and report what is found
  dashboard test-notify -config FILE [CHANNEL...]    send a message for trial to channels, all unless named
  dashboard test-rules [-config FILE] TESTS [...]    run tests of alert rules
  dashboard hash-password         read a password and print its hash for auth.users
  dashboard audit verify -config FILE   check the chain of the audit
  dashboard version               print the version

Exit codes: 0 done, 1 failed, or check found a PROBLEM, or a test did not hold, 2 cannot work as called or configured.
`

func main() {
	if limit, ok := memoryLimit(os.Getenv("GOMEMLIMIT"), os.DirFS("/")); ok {
		debug.SetMemoryLimit(limit)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// streams are what a command reads and writes.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

// run carries out one command and returns its exit code.
func run(ctx context.Context, args []string, io streams) int {
	commands := map[string]func(context.Context, []string, streams) error{
		"serve": serve, "check": checkCommand, "test-notify": testNotify, "test-rules": testRules,
		"hash-password": hashPassword, "audit": auditCommand, "version": printVersion,
		guardCommand: guardTrace,
	}
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		fmt.Fprint(io.out, usage)
		return exitOK
	}
	command, ok := commands[args[0]]
	if !ok {
		fmt.Fprintf(io.err, "dashboard: there is no command %q\n\n%s", args[0], usage)
		return exitUsage
	}
	err := command(ctx, args[1:], io)
	_, unusable := errors.AsType[*unusableError](err)
	switch {
	case err == nil:
		return exitOK
	case unusable:
		fmt.Fprintln(plainWriter{io.err}, err)
		return exitUsage
	default:
		fmt.Fprintln(plainWriter{io.err}, "dashboard:", err)
		return exitFailed
	}
}

// newLog returns the log of the process: one line of text per event.
func newLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

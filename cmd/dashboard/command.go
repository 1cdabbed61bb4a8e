package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	stdio "io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
	"syscall"

	"golang.org/x/term"

	"dedup-dashboard/cmd/dashboard/check"
	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/journal"
)

// unusableError means that the program cannot work as it was called or configured.
type unusableError struct{ err error }

func (e *unusableError) Error() string { return e.err.Error() }
func (e *unusableError) Unwrap() error { return e.err }

func unusable(format string, args ...any) error { return &unusableError{fmt.Errorf(format, args...)} }

// dataDirError tells a directory that cannot be used from a full disk: that one heals, so trying again is of use.
func dataDirError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("server.data_dir: %w", err)
	}
	return unusable("server.data_dir: %w", err)
}

// parseFlags parses the flags of a command, of which there is -config alone, and returns its value and the arguments.
func parseFlags(args []string, usage string) (path string, rest []string, err error) {
	flags := flag.NewFlagSet("dashboard", flag.ContinueOnError)
	flags.SetOutput(stdio.Discard) // run prints the error, once
	flags.StringVar(&path, "config", "", "the configuration `file`; config.example.yaml documents every key")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return "", nil, unusable("%s", usage)
	case err != nil:
		return "", nil, unusable("%w; %s", err, usage)
	}
	return path, flags.Args(), nil
}

// loadConfig reads the configuration of a command that needs nothing else.
func loadConfig(command string, args []string) (*config.Config, error) {
	usage := "usage: dashboard " + command + " -config FILE"
	path, rest, err := parseFlags(args, usage)
	if err != nil {
		return nil, err
	}
	if path == "" || len(rest) > 0 {
		return nil, unusable("%s", usage)
	}
	cfg, err := config.Load(path)
	if err != nil {
		return nil, &unusableError{err}
	}
	return cfg, nil
}

// serve runs the dashboard until ctx ends.
func serve(ctx context.Context, args []string, io streams) error {
	cfg, err := loadConfig("serve", args)
	if err != nil {
		return err
	}
	app, err := New(ctx, cfg, newLog(io.err), io.out)
	if err != nil {
		return err
	}
	return app.Run(ctx)
}

// checkCommand tries everything that a configuration names, read-only, and fails where something needs fixing.
func checkCommand(ctx context.Context, args []string, io streams) error {
	cfg, err := loadConfig("check", args)
	if err != nil {
		return err
	}
	return check.Run(ctx, cfg, plainWriter{io.out}, newLog(io.err))
}

// hashPassword reads a password, from the terminal without echo or else one line of input, and prints its hash.
func hashPassword(_ context.Context, args []string, io streams) error {
	if len(args) > 0 {
		return unusable("usage: dashboard hash-password (the password is read from the terminal or standard input)")
	}
	password, err := readPassword(io)
	if err != nil {
		return err
	}
	if err := auth.CheckPassword(password, ""); err != nil {
		return &unusableError{err}
	}
	hash, err := auth.HashPassword(password)
	if err != nil {
		return err
	}
	fmt.Fprintln(io.out, hash)
	return nil
}

func readPassword(io streams) (string, error) {
	if f, ok := io.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(io.err, "Password: ")
		b, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(io.err)
		if err != nil {
			return "", fmt.Errorf("read password: %w", err)
		}
		return string(b), nil
	}
	line, err := bufio.NewReader(io.in).ReadString('\n')
	if err != nil && line == "" {
		return "", unusable("no password on standard input")
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// auditCommand checks the chain of the audit, read-only, so that it may run beside the dashboard.
func auditCommand(ctx context.Context, args []string, io streams) error {
	if len(args) == 0 || args[0] != "verify" {
		return unusable("usage: dashboard audit verify -config FILE")
	}
	cfg, err := loadConfig("audit verify", args[1:])
	if err != nil {
		return err
	}
	state, err := journal.VerifyAudit(ctx, cfg.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return unusable("%w; no dashboard has run on server.data_dir %s, which counts from the folder that it is started in", err, cfg.DataDir)
	}
	if errors.Is(err, admin.ErrBroken) {
		return errors.Join(errors.New("the audit does not verify"), err)
	}
	if err != nil {
		return fmt.Errorf("the audit could not be checked, which proves nothing about it: %w", err)
	}
	fmt.Fprintf(io.out, "audit: %d entries, chain intact, head %s\n", state.Entries, state.Head)
	if state.Unkeyed > 0 {
		fmt.Fprintf(io.out, "audit: entries 1 to %d carry no key; what was changed in them before a later entry sealed them does not show\n", state.Unkeyed)
	}
	return nil
}

// printVersion prints what was built.
func printVersion(_ context.Context, _ []string, io streams) error {
	fmt.Fprintln(io.out, "dashboard", version())
	return nil
}

// version returns the module's version, or the revision it was built from, or "development".
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "development"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return "development"
}

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"dedup-dashboard/internal/broker/trace"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
)

// guardCommand makes this program the guard of a trace. The dashboard starts it by itself, so the usage does not show it.
const guardCommand = "guard-trace"

// guardTrace switches tracing off when the dashboard that started it ends. Signals that end services end the dashboard: the guard sees that by
// its input, and has work to do then.
func guardTrace(_ context.Context, args []string, io streams) error {
	if len(args) > 0 {
		return unusable("this command is started by the dashboard itself while it traces; it is of no use by hand")
	}
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return trace.RunGuard(io.in, io.out)
}

// openTracers opens the tracer of each broker by its name, and clears in the background what traces of an earlier process left on.
func (a *App) openTracers(cfg *config.Config) (map[string]*trace.Tracer, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that guards traces: %w", err)
	}
	tracers := make(map[string]*trace.Tracer, len(cfg.Brokers))
	for _, b := range cfg.Brokers {
		tracer, err := trace.OpenTracer(b, trace.Options{DataDir: cfg.DataDir, Guard: []string{program, guardCommand}, Log: a.log})
		if err != nil {
			return nil, unusable("broker %s: %w", b.Name, err)
		}
		a.teardown.closing("tracer of "+b.Name, tracer.Close)
		a.background("left traces of "+b.Name, func(ctx context.Context) error { return a.clearTrace(ctx, tracer) })
		tracers[b.Name] = tracer
	}
	left, err := trace.LeftTraces(cfg.DataDir, func(name string) bool { return tracers[name] != nil })
	for _, t := range left {
		a.logTrace(t)
	}
	if err != nil { // of a broker that is gone: no reason not to start
		a.log.Warn("traces of earlier processes are not known", "err", err)
	}
	return tracers, nil
}

func (a *App) logTrace(t dedup.ClearedTrace) {
	a.log.Warn(clearedText(t), "broker", t.Broker, "vhost", t.Vhost, "began", t.Began, "off", t.Off, "err", t.Err)
}

// clearTrace tells of a trace that a crash cut off.
func (a *App) clearTrace(ctx context.Context, tracer *trace.Tracer) error {
	cleared, some, err := tracer.Clear(ctx)
	if some && ctx.Err() == nil {
		a.logTrace(cleared)
	}
	return err
}

func clearedText(c dedup.ClearedTrace) string {
	if c.Off.IsZero() {
		return "a trace was cut off by a crash, and tracing could not be switched off: see whether it is on"
	}
	return "a trace was cut off by a crash; tracing is off"
}

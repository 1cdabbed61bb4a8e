package amqp

import (
	"context"
	"log/slog"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
)

// Options are what a Tracer needs beside the configuration of its broker.
type Options struct {
	// DataDir is the folder in which it writes down what it switches on before it does.
	DataDir string
	// Guard is the command that runs RunGuard: this program itself.
	Guard []string
	Log   *slog.Logger
}

// A Tracer traces deliveries of one broker, one trace at a time. Its methods may be called at the same time.
type Tracer struct{}

// OpenTracer returns the tracer of the configured broker. It connects to nothing. Where measurements are off, or no account is configured, it
// holds no credentials: Ready then says so, and Trace refuses.
func OpenTracer(config broker.Config, options Options) (*Tracer, error) {
	return &Tracer{}, nil
}

// Ready says whether queues of a vhost could be traced now. It binds a queue of its own for a moment to see whether it may.
func (t *Tracer) Ready(ctx context.Context, vhost string, queues []string) dedup.TraceReadiness {
	return dedup.TraceReadiness{Problems: []dedup.TraceProblem{{Reason: dedup.TraceForbidden, Text: "tracing is not built yet"}}}
}

// Trace traces until the time is up, ctx ends, or it would harm: then the trace says why it stopped. An error means that there is no trace; it
// is a *dedup.Error, of kind Conflict where Ready would have said why not. When it returns tracing is off, unless it was on before.
func (t *Tracer) Trace(ctx context.Context, request dedup.TraceRequest) (dedup.Trace, error) {
	return dedup.Trace{}, &dedup.Error{Kind: dedup.Conflict, Public: "tracing is not built yet"}
}

// Tracing returns the vhost that is being traced now, or has just been.
func (t *Tracer) Tracing() (vhost string, ok bool) { return "", false }

// Clear switches off what traces of an earlier process left on, and tells of it. It is called once at the start, and tries on until ctx ends.
func (t *Tracer) Clear(ctx context.Context) ([]dedup.ClearedTrace, error) { return nil, nil }

// Close releases what the tracer holds.
func (t *Tracer) Close() error { return nil }

// Package session measures one pipeline exactly: it has its deliveries traced, reads the marker of each message, and joins both.
package session

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"dedup-dashboard/internal/collector/estimate"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// Tracer traces the deliveries of queues; its errors are *dedup.Error.
type Tracer interface {
	Trace(ctx context.Context, request dedup.TraceRequest) (dedup.Trace, error)
}

// Store finds markers by message ids; it may be asked by several at once.
type Store interface {
	Find(ctx context.Context, ids []string) ([]*dedup.Sighting, error)
}

// follower is a store that can hand on what happens to each marker, until stop is called, which reports whether nothing was missed.
type follower interface {
	Follow(take func(dedup.StoreEvent)) (stop func() bool, ok bool)
}

// A Request says what is measured.
type Request struct {
	Pipeline dedup.Pipeline
	Scheme   dedup.Scheme
	Tracer   Tracer
	Store    Store
	Length   time.Duration
	// Work is about how long work takes, as other figures say; 0 where they do not.
	Work time.Duration
	// Progress is told when tracing began, with no deliveries, and each second how many were seen; it must not wait.
	Progress func(began time.Time, seen int64)
	Log      *slog.Logger
}

// An Outcome is what came of a session.
type Outcome struct {
	// Result is nil where nothing can be said.
	Result *dedup.SessionResult
	// Why says in few words why there is no result, or why it ended before its time.
	Why string
}

const (
	// completeness is the largest share by which traced and counted deliveries may differ, fewest how many they always may.
	completeness = 0.005
	fewest       = 2
	// mostWithoutID is the largest share of messages without an id, mostUnsettled that of deliveries without an outcome.
	mostWithoutID = 0.005
	mostUnsettled = 0.5
)

// Run measures until the time is up or ctx ends; what was traced by then is still joined. An error is a *dedup.Error and means that nothing
// was traced, or that markers could not be read.
func Run(ctx context.Context, r Request) (Outcome, error) {
	if why := estimate.SessionRefusal(r.Scheme); why != "" {
		return Outcome{}, &dedup.Error{Kind: dedup.Conflict, Public: capital(why)}
	}
	source, err := message.ParseIDSource(r.Pipeline.IDFrom)
	if err != nil {
		return Outcome{}, &dedup.Error{Kind: dedup.Conflict, Public: "The pipeline has no rule for ids (id.from)", Err: err}
	}
	ask := dedup.TraceRequest{For: r.Length}
	for _, q := range r.Pipeline.Queues {
		ask.Queues = append(ask.Queues, dedup.TracedQueue{QueueRef: dedup.QueueRef{Vhost: r.Pipeline.Vhost, Name: q}, ID: source})
	}
	b := newBook(r.Scheme)
	listened := func() bool { return false }
	if f, ok := r.Store.(follower); ok {
		if stop, ok := f.Follow(b.event); ok {
			listened = stop
		}
	}
	trace, err := r.traced(ctx, ask, b)
	if err != nil {
		listened()
		return Outcome{}, err
	}
	// Whoever stopped it wants to know what was seen: the markers are still read.
	if err := b.finish(context.WithoutCancel(ctx), r.Store); err != nil {
		listened()
		return Outcome{}, unread(err)
	}
	s := estimate.Session{Scheme: r.Scheme, Trace: &trace, Listened: listened() && !b.full, Work: r.Work}
	s.Markers, s.Resolution = b.markers()
	return judge(s), nil
}

// traced runs the trace, and reads markers meanwhile.
func (r Request) traced(ctx context.Context, ask dedup.TraceRequest, b *book) (dedup.Trace, error) {
	reading, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	began := make(chan time.Time, 1)
	ask.Started = func(at time.Time) { began <- at }
	ask.Delivered = b.delivered
	go func() {
		defer close(ended)
		b.follow(reading, r, began)
	}()
	trace, err := r.Tracer.Trace(ctx, ask)
	stop()
	<-ended
	return trace, err
}

func unread(err error) error {
	return &dedup.Error{Kind: dedup.Unavailable, Public: "The markers could not be read: " + dedup.PublicText(err), Err: err}
}

// judge joins a session, or says why it tells nothing.
func judge(s estimate.Session) Outcome {
	trace := s.Trace
	out := Outcome{Why: trace.Stopped}
	if why := incomplete(trace); why != "" {
		return Outcome{Why: joined(why, trace.Stopped)}
	}
	if estimate.SessionTimesOff(s) {
		return Outcome{Why: "the markers' lives are not those of ttl in the configuration"}
	}
	r := estimate.SessionOf(s)
	switch {
	case float64(r.NoID) > max(fewest, mostWithoutID*r.Traced):
		return Outcome{Why: fmt.Sprintf("%d of %.0f messages have no id: %s", r.NoID, r.Traced, r.WhyNoID)}
	case timeless(s):
		return Outcome{Why: "the markers have no times: switch store events on, or give them an expiry"}
	case r.Messages == 0 || float64(r.Unsettled) > mostUnsettled*r.Traced:
		return Outcome{Why: fmt.Sprintf("%d of %.0f deliveries left no marker: store or id.from do not fit", r.Unsettled, r.Traced)}
	}
	out.Result = r
	return out
}

// incomplete says why a trace did not show what the broker counted; empty where it did.
func incomplete(t *dedup.Trace) string {
	off := math.Abs(t.Traced - t.Counted)
	switch {
	case math.IsInf(t.Unsure, 1):
		return "the broker did not count deliveries meanwhile"
	case t.Traced == 0 && t.Counted <= fewest:
		return "no delivery in " + t.Ended.Sub(t.Began).Round(time.Second).String()
	case off > max(fewest, completeness*t.Counted)+t.Unsure:
		return fmt.Sprintf("%.0f of %.0f deliveries were traced", t.Traced, t.Counted)
	}
	return ""
}

// timeless reports whether markers of done work tell no time, and nobody listened.
func timeless(s estimate.Session) bool {
	done, dated := 0, 0
	for _, m := range s.Markers {
		if m.State == dedup.Done || m.State == dedup.Present {
			done++
		}
		if len(m.Set) > 0 {
			dated++
		}
	}
	return !s.Listened && done > 0 && dated*2 < done
}

func joined(a, b string) string {
	if b == "" {
		return a
	}
	return b + "; " + a
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}

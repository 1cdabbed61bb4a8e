package figure

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

const (
	timeoutSource  = "log of the broker"
	timeoutFormula = "consumers that held a delivery for longer than consumer_timeout, per hour"
	// ShortestRate is how much of a window must have data before a rate per hour is shown.
	ShortestRate = 30 * time.Second
	// BetterSilent is what to do where a node may not publish its log.
	BetterSilent = "See that log.exchange = true and log.exchange.level = warning (not error) stand in rabbitmq.conf of every node; the first warning that a node logs proves it."
)

// AckTimeouts are what the figure of ack timeouts is computed from.
type AckTimeouts struct {
	Now    time.Time
	Window time.Duration
	// Why says why nothing can be told now, Better what to do; both empty when it can.
	Why, Better string
	// Own are the timeouts of the pipeline's queues, All those of the broker, Unnamed those of them without a queue.
	Own, All, Unnamed sample.Increase
	// Named: this broker names queues. Logged: it writes every timeout.
	Named, Logged bool
	// Gap is when lines were last missed.
	Gap time.Time
	// Overran: they were missed because they came faster than they were read.
	Overran bool
	// Silent says why not every node is known to publish its log; empty when each is.
	Silent string
}

// missed says why lines of the log were missed.
func (s AckTimeouts) missed() string {
	if s.Overran {
		return "lines of the broker's log came faster than they were read"
	}
	return "the broker's log was not followed without a gap"
}

// Figure computes the ack timeouts per hour.
func (s AckTimeouts) Figure() dedup.Figure {
	f := dedup.Unknown(dedup.PerHour, s.Why)
	f.Window, f.Source, f.Formula, f.Better = s.Window, timeoutSource, timeoutFormula, s.Better
	if s.Why != "" {
		return f
	}
	of, everywhere := s.Own, !s.Named
	if everywhere {
		of = s.All
	}
	if !of.Known || of.Covered < ShortestRate {
		f.Why = "the history holds too little of this window yet"
		return f
	}
	gap := !s.Gap.IsZero() && s.Now.Sub(s.Gap) < s.Window
	switch {
	case of.Delta == 0 && gap:
		f.Why = s.missed() + " in this window" + text.UntilAbout(s.Gap.Add(s.Window), s.Now)
		return f
	case of.Delta == 0 && !s.Logged:
		f.Why = "not observable on this broker: from RabbitMQ 4.3 on classic queues have no ack timeout, and quorum queues cancel the consumer without a line in the log"
		return f
	case of.Delta == 0 && s.Named && s.Unnamed.Delta > 0:
		f.Why = fmt.Sprintf("the log does not name the queue of %s in this window", text.Counted(text.Whole(s.Unnamed.Delta), "ack timeout"))
		return f
	}
	if of.Delta == 0 && s.Silent != "" {
		f.Why, f.Better = s.Silent, BetterSilent
		return f
	}
	v := of.Delta / of.Covered.Hours()
	f.Quality, f.Value, f.Low, f.High, f.N, f.Covered, f.At = dedup.Measured, v, v, v, of.Delta, of.Covered, of.At
	if everywhere && of.Delta > 0 {
		f.Quality, f.Why = dedup.Derived, "of the whole broker: RabbitMQ names the queue of an ack timeout from 3.13 on"
	}
	switch {
	case gap:
		f.AtLeast, f.Why = true, text.Reasons("at least: "+s.missed(), f.Why)
	case !s.Logged:
		f.AtLeast, f.Why = true, "at least: from RabbitMQ 4.3 on most ack timeouts leave no line in the log"
	case s.Named && s.Unnamed.Delta > 0:
		f.AtLeast, f.Why = true, fmt.Sprintf("at least: the log does not name the queue of %s more", text.Counted(text.Whole(s.Unnamed.Delta), "ack timeout"))
	case s.Silent != "":
		f.AtLeast, f.Why, f.Better = true, text.Reasons("at least: "+s.Silent, f.Why), BetterSilent
	}
	return f
}

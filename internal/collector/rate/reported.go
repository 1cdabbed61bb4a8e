package rate

import (
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

const (
	ReportedSource  = "reported counters"
	ReportsStopped  = "consumers reported nothing in the window although the broker counted acks"
	reportedFormula = "duplicate_done / messages, from the counters that consumers report"
)

// A Reported is what a pipeline's consumers reported over one window.
type Reported struct {
	Window   time.Duration
	Scheme   dedup.Scheme
	Outcomes map[string]sample.Increase
	// Acked counts the observations in the ack latency histogram, one for each delivery that was acked.
	Acked sample.Increase
	// Present: the hash exists or existed.
	Present bool
	// BrokerAcks are the acks that the broker counted meanwhile.
	BrokerAcks sample.Increase
	// Dropped is true when the counters were reset in the window.
	Dropped bool
}

// A ReportedResult holds the figures that reported counters give.
type ReportedResult struct {
	Messages, Duplicates, Rate      dedup.Figure
	InFlight, Failures, FailureRate dedup.Figure
}

// Estimate computes the figures of one window from the counters that consumers report.
func (s Reported) Estimate() ReportedResult {
	if why := reportedRefusal(s); why != "" {
		return Unreported(s.Window, why)
	}
	var r ReportedResult
	messages, duplicates := reportedMessages(s), s.Outcomes["duplicate_done"].Delta
	note := ""
	if s.Dropped {
		note = "the counters were reset in the window; what was counted just before is missing"
	}
	count := func(v float64) dedup.Figure { return s.figure(dedup.Count, v, messages, note) }
	r.Messages, r.Duplicates = count(messages), count(duplicates)
	r.InFlight, r.Failures = count(s.Outcomes["duplicate_in_flight"].Delta), count(s.Outcomes["failed"].Delta)
	r.Rate = s.ratio(duplicates, messages, "messages", note)
	attempts := s.Outcomes["processed"].Delta + r.Failures.Value
	r.FailureRate = s.ratio(r.Failures.Value, attempts, "attempts", note)
	r.FailureRate.Formula = "failed / (processed + failed)"
	return r
}

// reportedMessages counts the deliveries that were acked. Consumers that report ack latencies report one for each ack,
// which includes messages that were given up and lost races; outcomes alone cannot tell those from returned ones.
func reportedMessages(s Reported) float64 {
	sum := s.Outcomes["processed"].Delta + s.Outcomes["duplicate_done"].Delta +
		s.Outcomes["illegal_state"].Delta + s.Outcomes["out_of_order"].Delta
	if s.Scheme.OnInFlight == "ack" {
		sum += s.Outcomes["duplicate_in_flight"].Delta
	}
	if s.Scheme.OnFail == "ack" {
		sum += s.Outcomes["failed"].Delta
	}
	return max(sum, s.Acked.Delta)
}

func reportedRefusal(s Reported) string {
	// fewAcks is what the broker must have counted before silence of the consumers is suspicious.
	const fewAcks = 50
	known, any := false, 0.0
	for _, g := range s.Outcomes {
		known = known || g.Known
		any += g.Delta
	}
	switch {
	case !s.Present:
		return "consumers report no counters"
	case !known:
		return "the reported counters have no history in this window yet"
	case any == 0 && s.BrokerAcks.Known && s.BrokerAcks.Delta >= fewAcks:
		return ReportsStopped
	}
	return ""
}

func (s Reported) figure(unit dedup.Unit, v, n float64, note string) dedup.Figure {
	f := dedup.Exact(dedup.Measured, unit, v, time.Time{}, ReportedSource)
	f.Window, f.N, f.Why = s.Window, n, note
	for _, g := range s.Outcomes {
		f.Covered = max(f.Covered, g.Covered)
		if g.At.After(f.At) {
			f.At = g.At
		}
	}
	return f
}

func (s Reported) ratio(hits, n float64, of, note string) dedup.Figure {
	if n == 0 {
		f := dedup.Unknown(dedup.Ratio, "no "+of+" in the window")
		f.Window, f.Source = s.Window, ReportedSource
		return f
	}
	f := s.figure(dedup.Ratio, hits/n, n, note)
	f.Hits, f.Formula = hits, reportedFormula
	return f
}

// Unreported returns unknown figures with one reason.
func Unreported(window time.Duration, why string) ReportedResult {
	unknown := func(u dedup.Unit) dedup.Figure {
		f := dedup.Unknown(u, why)
		f.Window, f.Better = window, BetterReport
		return f
	}
	return ReportedResult{
		Messages: unknown(dedup.Count), Duplicates: unknown(dedup.Count), Rate: unknown(dedup.Ratio),
		InFlight: unknown(dedup.Count), Failures: unknown(dedup.Count), FailureRate: unknown(dedup.Ratio),
	}
}

package figure

import (
	"math"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// Messages is the best count of the acked messages of the window: live counts lose none, the broker's own those that closed channels took
// along, and the rows of a table those before it was followed.
func Messages(live rate.LiveResult, acks, rows dedup.Figure) dedup.Figure {
	if live.Told {
		if f := live.Messages(); 2*f.Covered >= acks.Covered {
			f.Better = ""
			return f
		}
	}
	if !acks.Known() && rows.Known() {
		return rows
	}
	return acks
}

// WholeCounts makes what is counted whole again where arithmetic left parts of messages: of duplicates as many as are certain.
func WholeCounts(estimates []dedup.Estimate) {
	const rounding = 1e-6
	for i := range estimates {
		r := &estimates[i].Rate
		r.Hits, r.N = math.Floor(r.Hits+rounding), math.Round(r.N)
	}
}

// OfPart says that duplicates were counted in a small part of the window alone: beside the messages of all of it they are at least so many.
func OfPart(duplicates, messages dedup.Figure) dedup.Figure {
	if !duplicates.Known() || !messages.Known() || 2*duplicates.Covered >= messages.Covered {
		return duplicates
	}
	duplicates.Value, duplicates.High, duplicates.AtLeast = duplicates.Low, duplicates.Low, true
	duplicates.Why = text.Reasons(duplicates.Why, "at least: only "+text.Span(duplicates.Covered)+" of the window are counted")
	return duplicates
}

// ArrivalRate is the rate of what a tally of arrivals gained over a window.
func ArrivalRate(g sample.Increase, w time.Duration) dedup.Figure {
	const shortest = 30 * time.Second
	f := dedup.Unknown(dedup.PerHour, "the history holds too little of this window yet")
	f.Window, f.Source, f.Formula = w, "depth of the dead-letter queues", "change of depth + acks + automatic deliveries, per hour; what is published straight to the queue has arrived too"
	if g.Known && g.Covered >= shortest {
		v := g.Delta / g.Covered.Hours()
		f.Quality, f.Value, f.Low, f.High, f.N, f.Why = dedup.Derived, v, v, v, g.Delta, ""
		f.Covered, f.At = g.Covered, g.At
	}
	return f
}

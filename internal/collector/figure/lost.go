package figure

import (
	"cmp"
	"fmt"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// lostNote says what no source of lost messages counts.
const lostNote = "at least: messages dropped for want of a dead-letter exchange are no part of it"

// lost counts messages that left without their work.
func (x Explanation) lost(out *dedup.WindowFigures) dedup.Figure {
	switch {
	case x.Scheme.OnFail == "ack" && x.Scheme.GiveUp == 0 && x.Reported.Failures.Known():
		return x.failedAndAcked()
	case x.Scheme.GiveUp > 0 && x.SpanKnown:
		return x.unparked(x.givenUp())
	case x.Scheme.GiveUp > 0 && out.GaveUp.Known():
		f := out.GaveUp
		f.Formula, f.AtLeast, f.Why = "messages given up, and acked", true, text.Reasons(f.Why, lostNote)
		return x.unparked(f)
	}
	return unknownCount(out, cmp.Or(x.StoreDown, "nothing counts the messages that leave without their work in this scheme"), x.better())
}

// failedAndAcked are the failures that consumers report and ack. Where they take a failed marker again, a copy that is sent again may
// fail again, and no count of failures tells how many messages they were.
func (x Explanation) failedAndAcked() dedup.Figure {
	f := x.Reported.Failures
	f.Formula, f.AtLeast, f.Why = "failed, as consumers report it: they ack these messages", true, lostNote
	if all := f.High; x.Scheme.OnFailed == "run" && all > 1 {
		f.Quality, f.Value, f.Low = dedup.Derived, 1, 1
		f.Why = text.Reasons(fmt.Sprintf("up to %s: a message that is sent again and fails again counts once more", text.Counted(text.Whole(all), "message")), f.Why)
	}
	return f
}

// givenUp are the messages that the store's events show given up: at least those whose work was not seen done since, each once, at
// most each time that one was given up.
func (x Explanation) givenUp() dedup.Figure {
	most := x.Span.To.GaveUp - x.Span.From.GaveUp
	least := min(max(x.Span.To.Lost-x.Span.From.Lost, 0), most)
	f := x.Span.Figure(rate.EventQuality(x.Scheme), dedup.Count, least, x.Span.To.Completions-x.Span.From.Completions+most, rate.EventsSource,
		fmt.Sprintf("messages given up at %d failures, and acked", x.Scheme.GiveUp))
	f.AtLeast, f.Why = true, lostNote
	if least < most {
		f.High, f.Quality = most, dedup.Derived
		f.Why = text.Reasons(fmt.Sprintf("given up %s, some of it copies of messages that had been given up before, or whose work was done since", text.Counted(text.Whole(most), "time")), lostNote)
	}
	return f
}

// unparked takes off the messages given up those that consumers may have put into a dead-letter queue themselves: they are not lost.
func (x Explanation) unparked(f dedup.Figure) dedup.Figure {
	n := len(x.Frames)
	if n == 0 || x.Frames[n-1].DeadPublished == 0 {
		return f
	}
	put := x.Frames[n-1].DeadPublished
	f.Low = max(0, f.Low-put)
	f.Value, f.Quality = f.Low, dedup.Derived
	f.Why = text.Reasons(fmt.Sprintf("up to %s, but %s into its dead-letter queues, perhaps by the consumers that gave up: those are not lost",
		text.Counted(text.Whole(f.High), "message"), wasPut(text.Whole(put))), f.Why)
	return f
}

func wasPut(n int64) string {
	return text.Counted(n, "message") + " " + text.Agree(n, "was", "were") + " put"
}

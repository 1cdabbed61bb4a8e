package alerts

import (
	"math"
	"strconv"

	"dedup-dashboard/internal/dedup"
)

// A split is the share of the duplicates that are redeliveries, as an interval; the others are second messages.
type split struct {
	known     bool
	low, high float64
}

// splitOf takes the narrowest share that both figures allow: what is not the one is the other.
func splitOf(w *dedup.WindowFigures) split {
	d, sent, again := w.Duplicates, w.ProducerSent, w.Redelivered
	if !sound(d) || d.High <= 0 || !sound(sent) && !sound(again) {
		return split{}
	}
	s := split{known: true, low: 0, high: 1}
	if sound(again) {
		s.low = again.Low / d.High
		if !again.AtLeast && d.Low > 0 {
			s.high = math.Min(s.high, again.High/d.Low)
		}
	}
	if sound(sent) {
		s.high = math.Min(s.high, 1-sent.Low/d.High)
		if !sent.AtLeast && d.Low > 0 {
			s.low = math.Max(s.low, 1-sent.High/d.Low)
		}
	}
	s.low, s.high = math.Max(0, math.Min(1, s.low)), math.Max(0, math.Min(1, s.high))
	if s.low > s.high+1/d.High+1e-9 { // the two contradict each other by more than a message
		return split{}
	}
	s.low, s.high = math.Min(s.low, s.high), math.Max(s.low, s.high)
	return s
}

func (s split) redelivered() bool { return s.known && s.low > mostly }
func (s split) producer() bool    { return s.known && s.high < mostly }

// causes are the causes to look for, the likeliest first. Second messages come from who publishes, redeliveries from a consumer
// that lost its channel; a deploy may do either, and is told only where nothing nearer is.
func (s split) causes() []CauseKind {
	switch {
	case s.producer():
		return []CauseKind{CauseOwnJob, CauseDeploy}
	case s.redelivered():
		return []CauseKind{CauseAckTimeout, CauseRestart, CauseBroker, CauseDeploy}
	}
	return []CauseKind{CauseOwnJob, CauseAckTimeout, CauseRestart, CauseBroker, CauseDeploy}
}

// share says how many of the duplicates are of the origin that most are of; empty when that cannot be told.
func (s split) share() string {
	switch {
	case s.redelivered():
		return shareText(s.low, s.high) + " of the duplicates are redeliveries"
	case s.producer():
		return shareText(1-s.high, 1-s.low) + " of the duplicates are second messages"
	case s.known && s.high-s.low < 0.2:
		return shareText(s.low, s.high) + " of the duplicates are redeliveries, the others second messages"
	}
	return ""
}

func (s split) clause() string {
	if text := s.share(); text != "" {
		return "; " + text
	}
	return ""
}

// shareText writes a share in whole percent, widened so that it still holds the truth.
func shareText(low, high float64) string {
	from, to := int(math.Floor(low*100+1e-9)), int(math.Ceil(high*100-1e-9))
	if to-from <= 1 && math.Round(low*100) == math.Round(high*100) {
		return strconv.Itoa(int(math.Round(low*100))) + " %"
	}
	return strconv.Itoa(from) + "–" + strconv.Itoa(to) + " %"
}

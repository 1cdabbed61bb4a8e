package figure

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

func known(delta float64) sample.Increase {
	return sample.Increase{Delta: delta, Covered: 15 * time.Minute, At: time.Unix(1000, 0), Known: true}
}

func TestAckTimeoutsAreCountedOrSaidToBeUnknown(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	few := AckTimeouts{Now: now, Window: 15 * time.Minute, Own: known(0), All: known(0), Unnamed: known(0), Named: true, Logged: true}
	for _, tt := range []struct {
		name    string
		change  func(*AckTimeouts)
		quality dedup.Quality
		value   float64
		atLeast bool
		words   string
	}{
		{"none, where every timeout is logged", func(*AckTimeouts) {}, dedup.Measured, 0, false, ""},
		{"three of the pipeline's queues", func(s *AckTimeouts) { s.Own, s.All = known(3), known(5) }, dedup.Measured, 12, false, ""},
		{"of the whole broker up to 3.12", func(s *AckTimeouts) { s.Named, s.All, s.Unnamed = false, known(2), known(2) }, dedup.Derived, 8, false, "of the whole broker"},
		{"none of the whole broker is none of the pipeline", func(s *AckTimeouts) { s.Named = false }, dedup.Measured, 0, false, ""},
		{"some whose queue cannot be told", func(s *AckTimeouts) { s.Unnamed, s.All = known(1), known(1) }, dedup.QualityUnknown, 0, false, "does not name the queue of 1 ack timeout"},
		{"some of ours, and some that cannot be told", func(s *AckTimeouts) { s.Own, s.Unnamed = known(1), known(2) }, dedup.Measured, 4, true, "does not name the queue of 2 ack timeouts more"},
		{"none, with a gap", func(s *AckTimeouts) { s.Gap = now.Add(-time.Minute) }, dedup.QualityUnknown, 0, false, "without a gap in this window (until about"},
		{"some, with a gap", func(s *AckTimeouts) { s.Gap, s.Own = now.Add(-time.Minute), known(1) }, dedup.Measured, 4, true, "at least: the broker's log was not followed"},
		{"none, where lines came too fast", func(s *AckTimeouts) { s.Gap, s.Overran = now.Add(-time.Minute), true }, dedup.QualityUnknown, 0, false, "came faster than they were read in this window (until about"},
		{"some, where lines came too fast", func(s *AckTimeouts) { s.Gap, s.Overran, s.Own = now.Add(-time.Minute), true, known(1) }, dedup.Measured, 4, true, "at least: lines of the broker's log came faster"},
		{"a gap before the window", func(s *AckTimeouts) { s.Gap = now.Add(-16 * time.Minute) }, dedup.Measured, 0, false, ""},
		{"none from 4.3 on", func(s *AckTimeouts) { s.Logged = false }, dedup.QualityUnknown, 0, false, "not observable on this broker: from RabbitMQ 4.3 on"},
		{"one from 4.3 on", func(s *AckTimeouts) { s.Logged, s.Own = false, known(1) }, dedup.Measured, 4, true, "at least: from RabbitMQ 4.3 on"},
		{"a log that is not followed", func(s *AckTimeouts) { s.Why, s.Better = "no exchange", "make one" }, dedup.QualityUnknown, 0, false, "no exchange"},
		{"none, from nodes that were never heard", func(s *AckTimeouts) { s.Silent = "no line of node b" }, dedup.QualityUnknown, 0, false, "no line of node b"},
		{"some, and a node that was never heard", func(s *AckTimeouts) { s.Silent, s.Own = "no line of node b", known(1) }, dedup.Measured, 4, true, "at least: no line of node b"},
		{"too little time", func(s *AckTimeouts) { s.Own.Covered = 20 * time.Second }, dedup.QualityUnknown, 0, false, "too little"},
	} {
		s := few
		tt.change(&s)
		f := s.Figure()
		if f.Quality != tt.quality || f.Value != tt.value || f.AtLeast != tt.atLeast || !strings.Contains(f.Why, tt.words) || f.Unit != dedup.PerHour || s.Silent == "" && f.Better != s.Better || s.Silent != "" && f.Better != BetterSilent {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
}

// TestAPaceDoesNotJumpWhenTheLastNodeIsHeard: a lower bound is over the time that is covered, as it says, like the figure it becomes.
func TestAPaceDoesNotJumpWhenTheLastNodeIsHeard(t *testing.T) {
	six := sample.Increase{Delta: 6, Covered: 10 * time.Minute, At: time.Unix(1000, 0), Known: true}
	s := AckTimeouts{Now: time.Unix(1_800_000_000, 0), Window: 24 * time.Hour, Own: six, All: six, Named: true, Logged: true}
	heard := s.Figure()
	s.Silent = "no line of node b"
	silent := s.Figure()
	if heard.Value < 35.9 || heard.Value > 36.1 || silent.Low != heard.Low || silent.Value != heard.Value || !silent.AtLeast || silent.N != 6 || silent.Covered != 10*time.Minute {
		t.Errorf("%+v, then %+v", silent, heard)
	}
}

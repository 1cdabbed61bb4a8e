package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestATierThatFallsTooSoonOrIsNeverSeenToStayIsAFault(t *testing.T) {
	value := func(v float64) *float64 { return &v }
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		stays float64 // the rate of an evaluation before the edge, at which the tier is still severe
		at    float64 // the rate at the edge
		want  string
	}{
		{"it stays below its limit and falls below 80 % of it", 0.027, 0.023, ""},
		{"it falls between both", 0.027, 0.025, "severe ended at 2.50 %, above 2.40 %"},
		{"it falls at once", 0.031, 0.023, "severe was never seen to stay between 2.40 % and 3.00 %"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &climb{seen: map[time.Time]evaluation{begin: {At: begin, Value: value(tt.stays), Tier: "severe"}}}
			s := step{turn: turn{0.02, "warning"}, before: 0.05, value: tt.at, edge: edge{From: "severe", To: "warning", At: begin.Add(time.Minute)}}
			if got := strings.Join(c.hysteresis(s), "; "); got != tt.want {
				t.Errorf("faults %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAnEdgeThatIsNotToldOnceIsAFault(t *testing.T) {
	fired, resolved := occasion{Key: "a/pipeline/b", Edge: "fired"}, occasion{Key: "a/pipeline/b", Edge: "resolved"}
	edges := []occasion{fired, resolved, fired}
	if wrong := compare(edges, []occasion{fired, resolved, fired}); len(wrong) > 0 {
		t.Errorf("each was told, and yet %v", wrong)
	}
	want := []string{"a/pipeline/b fired: not told, 1 times", "a/pipeline/b resolved: told 1 times too often"}
	if got := compare(edges, []occasion{fired, resolved, resolved}); !slices.Equal(got, want) {
		t.Errorf("faults %q, want %q", got, want)
	}
}

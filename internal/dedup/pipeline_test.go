package dedup_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestLimitsSayWhereTheyAreWrong(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*dedup.Limits)
		want   []string
	}{
		"the default ones are fine":         {func(*dedup.Limits) {}, nil},
		"no duplicates are needed":          {func(l *dedup.Limits) { l.MinDuplicates = 0 }, nil},
		"two rates are equal":               {func(l *dedup.Limits) { l.DuplicateSevere = l.DuplicateWarning }, []string{"duplicate_rate"}},
		"an emergency below severe":         {func(l *dedup.Limits) { l.DuplicateEmergency = 0.02 }, []string{"duplicate_rate"}},
		"a rate that all have":              {func(l *dedup.Limits) { l.DuplicateWarning = 0 }, []string{"duplicate_rate"}},
		"two latencies are equal":           {func(l *dedup.Limits) { l.LatencySevere = l.LatencyWarning }, []string{"ack_latency"}},
		"a latency that all have":           {func(l *dedup.Limits) { l.LatencyWarning = 0 }, []string{"ack_latency"}},
		"none is enough":                    {func(l *dedup.Limits) { l.MinMessages = 0 }, []string{"min_messages"}},
		"fewer than no duplicates":          {func(l *dedup.Limits) { l.MinDuplicates = -1 }, []string{"min_messages"}},
		"a window that is not shown":        {func(l *dedup.Limits) { l.Window = 20 * time.Minute }, []string{"window"}},
		"what is not a number is no limit":  {func(l *dedup.Limits) { l.DuplicateSevere, l.MinMessages = math.NaN(), math.NaN() }, []string{"duplicate_rate", "min_messages"}},
		"limits that nobody has set at all": {func(l *dedup.Limits) { *l = dedup.Limits{} }, []string{"duplicate_rate", "ack_latency", "min_messages", "window"}},
	} {
		l := dedup.DefaultLimits()
		tt.change(&l)
		var got []string
		l.Check(func(field, _ string) { got = append(got, field) })
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

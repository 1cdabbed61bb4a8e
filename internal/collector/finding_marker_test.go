package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// findingNow is noon; the store's clock is three minutes ahead of ours in these tests.
var findingNow = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

const findingOffset = 3 * time.Minute

func passAt(now time.Time) *dedup.Pass {
	return &dedup.Pass{Started: now.Add(-2 * time.Minute), Ended: now.Add(-time.Minute), ClockOffset: findingOffset}
}

func TestMessagesGivenUpAreAFinding(t *testing.T) {
	tests := map[string]struct {
		ages []time.Duration
		tier dedup.Tier // unknown: no finding
		text string
	}{
		"none":                       {nil, dedup.TierUnknown, ""},
		"one in the hour":            {[]time.Duration{18 * time.Minute}, dedup.Severe, "1 message was given up since 11:42 UTC"},
		"nine in the hour":           {repeated(9, 18*time.Minute), dedup.Severe, "9 messages were given up since 11:42 UTC"},
		"ten in the hour":            {repeated(10, 18*time.Minute), dedup.Emergency, "10 messages were given up"},
		"thousands":                  {repeated(1234, 18*time.Minute), dedup.Emergency, "1,234 messages were given up"},
		"older ones are not counted": {append(repeated(20, 3*time.Hour), 30*time.Minute), dedup.Severe, "1 message was given up since 11:30 UTC"},
		"many, but hours ago":        {repeated(20, 3*time.Hour), dedup.Warning, "20 messages were given up since 09:00 UTC"},
		"yesterday":                  {[]time.Duration{23 * time.Hour}, dedup.Warning, "since 3 Mar 13:00 UTC"},
		"more than a day ago":        {repeated(20, 25*time.Hour), dedup.TierUnknown, ""},
		"while the pass walked":      {[]time.Duration{90 * time.Second}, dedup.Severe, "1 message was given up"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := passAt(findingNow)
			for _, age := range tt.ages {
				p.GaveUp.Add(findingNow.Add(findingOffset - age))
			}
			p.GaveUp.Freeze()
			for _, id := range []string{"a", "b\x1b", "c", "d", "e", "sixth"} {
				p.GaveUpMarkers = append(p.GaveUpMarkers, dedup.Marker{ID: id})
			}
			got := messagesGivenUp(p, findingNow)
			if tt.tier == dedup.TierUnknown {
				if len(got) != 0 {
					t.Errorf("got %+v, want none", got)
				}
				return
			}
			if len(got) != 1 || got[0].Tier != tt.tier || !strings.Contains(got[0].Text, tt.text) || got[0].Mend == "" {
				t.Fatalf("got %+v, want %s and %q", got, tt.tier, tt.text)
			}
			if e := got[0].Evidence; !strings.Contains(e, "a, b\uFFFD, c, d, e") || strings.Contains(e, "sixth") {
				t.Errorf("evidence %q, want the first five ids, plain", e)
			}
		})
	}
	if got := messagesGivenUp(nil, findingNow); got != nil {
		t.Errorf("without a pass: %+v", got)
	}
}

func repeated(n int, age time.Duration) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = age
	}
	return out
}

func TestNumbersInSentences(t *testing.T) {
	for n, want := range map[int64]string{0: "0 markers", 1: "1 marker", 2: "2 markers", 999: "999 markers", 1000: "1,000 markers", 1234567: "1,234,567 markers"} {
		if got := counted(n, "marker"); got != want {
			t.Errorf("counted(%d) = %q, want %q", n, got, want)
		}
	}
	if got := grouped(-1234); got != "-1,234" {
		t.Errorf("grouped(-1234) = %q", got)
	}
}

func TestAPipelineShowsLostWorkAndStuckMarkers(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		b.pipelines[0].MaxProcessing = time.Minute
		now := time.Now()
		p := &dedup.Pass{Started: now, Ended: now, OldestProcessing: []dedup.Marker{{ID: "stuck", State: dedup.Processing, Since: now.Add(-time.Hour)}}}
		p.GaveUp.Add(now.Add(-time.Minute))
		p.GaveUp.Freeze()
		b.store.set(func(f *fakeSource) { f.stats.Pass = p })
		pass(2 * testInterval)
		kinds := map[string]dedup.Tier{}
		for _, f := range b.pipeline(t, "orders").Findings {
			kinds[f.Kind] = f.Tier
		}
		if kinds["messages_given_up"] != dedup.Severe || kinds["stuck_markers"] != dedup.Warning {
			t.Errorf("findings %v, want messages_given_up severe and stuck_markers", kinds)
		}
	})
}

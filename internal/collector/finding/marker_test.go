package finding

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
		"more than a day ago":        {repeated(20, 25*time.Hour), dedup.Normal, "20 messages were given up, none of them in the last 24 h"},
		"while the pass walked":      {[]time.Duration{90 * time.Second}, dedup.Severe, "1 message was given up"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := passAt(findingNow)
			for _, age := range tt.ages {
				p.GaveUp.Add(findingNow.Add(findingOffset - age))
			}
			p.GaveUp.Freeze()
			for _, id := range []string{"a", "b\x1b", "c", "d", "e", "sixth"}[:min(6, 6*len(tt.ages))] {
				p.GaveUpMarkers = append(p.GaveUpMarkers, dedup.Marker{ID: id})
			}
			got := messagesGivenUp(p, Growth{}, findingNow)
			if tt.tier == dedup.TierUnknown {
				if len(got) != 0 {
					t.Errorf("got %+v, want none", got)
				}
				return
			}
			if len(got) != 1 || got[0].Tier != tt.tier || !strings.Contains(got[0].Text, tt.text) || got[0].Remedy == "" {
				t.Fatalf("got %+v, want %s and %q", got, tt.tier, tt.text)
			}
			if e := got[0].Evidence; !strings.Contains(e, "a, b\uFFFD, c, d, e") || strings.Contains(e, "sixth") {
				t.Errorf("evidence %q, want the first five ids, plain", e)
			}
		})
	}
	if got := messagesGivenUp(nil, Growth{}, findingNow); got != nil {
		t.Errorf("without a pass: %+v", got)
	}
}

// INCR without EXPIRE leaves retry counters of which nobody can say when they reached the limit.
func TestMessagesGivenUpAtAnUnknownTimeAreAFinding(t *testing.T) {
	before := func(undated int64) Growth {
		return Growth{notes: []growthNote{{ended: findingNow.Add(-50 * time.Minute), gaveUp: undated}, {ended: findingNow.Add(-time.Minute), gaveUp: 500}}}
	}
	tests := map[string]struct {
		undated int64
		dated   []time.Duration
		growth  Growth
		tier    dedup.Tier
		text    string
	}{
		"one at the first pass":     {1, nil, Growth{}, dedup.Warning, "1 message was given up, when is not known: acked without the work, which is lost"},
		"many at the first pass":    {500, nil, Growth{}, dedup.Warning, "500 messages were given up, when is not known:"},
		"as many as an hour before": {500, nil, before(500), dedup.Warning, "500 messages were given up, when is not known:"},
		"fewer than an hour before": {500, nil, before(700), dedup.Warning, "500 messages were given up, when is not known:"},
		"one more than before":      {500, nil, before(499), dedup.Severe, "500 messages were given up, 1 of them in the last hour:"},
		"nine more than before":     {500, nil, before(491), dedup.Severe, "9 of them in the last hour"},
		"ten more than before":      {500, nil, before(490), dedup.Emergency, "10 of them in the last hour"},
		"growth and dated ones":     {500, repeated(5, 18*time.Minute), before(495), dedup.Emergency, "505 messages were given up, 10 of them in the last hour"},
		"beside dated ones":         {500, repeated(2, 18*time.Minute), Growth{}, dedup.Severe, "2 messages were given up since 11:42 UTC, and 500 more, when is not known:"},
		"beside older ones":         {500, repeated(2, 3*time.Hour), Growth{}, dedup.Warning, "2 messages were given up since 09:00 UTC, and 500 more, when is not known:"},
		"beside ones of last week":  {500, repeated(2, 150*time.Hour), Growth{}, dedup.Warning, "500 messages were given up, when is not known:"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := passWith(func(p *dedup.Pass) {
				p.UndatedGaveUp = tt.undated
				for _, age := range tt.dated {
					p.GaveUp.Add(findingNow.Add(findingOffset - age))
				}
			})
			got := messagesGivenUp(p, tt.growth, findingNow)
			if len(got) != 1 || got[0].Tier != tt.tier || !strings.Contains(got[0].Text, tt.text) {
				t.Errorf("got %+v, want %s and %q", got, tt.tier, tt.text)
			}
		})
	}
}

// A table dates its messages for a day; those before it are only listed.
func TestMessagesGivenUpLongAgoAreCountedByTheirList(t *testing.T) {
	for n, want := range map[int]string{3: "3 messages were given up, none", dedup.MaxListed: "At least 1,000 messages were given up, none"} {
		got := messagesGivenUp(passWith(func(p *dedup.Pass) { p.GaveUpMarkers = make([]dedup.Marker, n) }), Growth{}, findingNow)
		if len(got) != 1 || got[0].Tier != dedup.Normal || !strings.Contains(got[0].Text, want) {
			t.Errorf("got %+v, want a hint and %q", got, want)
		}
	}
}

func repeated(n int, age time.Duration) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = age
	}
	return out
}

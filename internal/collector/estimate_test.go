package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/dedup"
)

func TestInflow(t *testing.T) {
	type reading struct{ messages, settled float64 }
	tests := map[string]struct {
		readings []reading
		want     float64
	}{
		"what was there before is no arrival":  {[]reading{{5, 0}, {5, 0}}, 0},
		"a growing queue":                      {[]reading{{0, 0}, {3, 0}, {7, 0}}, 7},
		"consumed as fast as it comes":         {[]reading{{2, 0}, {2, 5}, {2, 5}}, 5},
		"an ack seen before the depth follows": {[]reading{{5, 0}, {5, 3}, {2, 3}, {2, 3}}, 0},
		"a depth seen before its ack":          {[]reading{{5, 0}, {2, 0}, {2, 3}, {2, 3}}, 0},
		"a purge is no negative arrival":       {[]reading{{9, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {2, 0}}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var f inflow
			at, sum := time.Unix(0, 0), 0.0
			for _, r := range tt.readings {
				sum += f.observe(int64(r.messages), r.settled, at)
				at = at.Add(15 * time.Second)
			}
			if sum != tt.want {
				t.Errorf("%v arrived, want %v", sum, tt.want)
			}
		})
	}
}

func TestHostileTextIsBoundedAndPlain(t *testing.T) {
	for _, s := range []string{strings.Repeat("é", 1<<20), "a\x1b[31m\u202eb\x00", "\xff\xfe", strings.Repeat("x", 299) + "é"} {
		got := plain(s, 300)
		if len(got) > 3*300+3 || strings.ContainsAny(got, "\x1b\x00\u202e") {
			t.Errorf("%.20q became %.40q of %d bytes", s, got, len(got))
		}
	}
}

func TestLatencyFieldsThatCannotBeReadAreAFinding(t *testing.T) {
	if got := finding.ReportUnreadable("orders", nil); len(got) != 0 {
		t.Errorf("without bad fields there is a finding: %v", got)
	}
	got := finding.ReportUnreadable("orders", []string{"ack_le_1", "ack_le_<b>", "a", "b", "c", "d"})
	if len(got) != 1 || got[0].Tier != dedup.Warning || !strings.Contains(got[0].Text, "6 latency fields") || strings.Contains(got[0].Evidence, "\"d\"") {
		t.Errorf("six bad fields give %+v", got)
	}
}

package collector

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

func TestHostileTextIsBoundedAndPlain(t *testing.T) {
	for _, s := range []string{strings.Repeat("é", 1<<20), "a\x1b[31m\u202eb\x00", "\xff\xfe", strings.Repeat("x", 299) + "é"} {
		got := text.Plain(s, 300)
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

package server

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

func TestALookUpTellsOfAMovedMessageWhatBecameOfIt(t *testing.T) {
	for became, want := range map[string]struct{ tier, text string }{
		"":                     {dedup.Normal.String(), ""},
		admin.BecameDone:       {dedup.Normal.String(), ""},
		admin.BecameBack:       {dedup.Severe.String(), ", then dead again"},
		admin.BecameFailed:     {dedup.Severe.String(), ", then failed"},
		admin.BecameProcessing: {dedup.TierUnknown.String(), ""},
		admin.BecameUnknown:    {dedup.TierUnknown.String(), ""},
	} {
		s := story{server: &Server{}, now: time.Now(), items: []admin.JobItem{{ID: "m-1", At: time.Now(), Target: "orders", Outcome: "moved", Became: became}}}
		got := s.moves()[0]
		if got.Tier != want.tier || !strings.HasSuffix(got.Text.Short, "moved to orders"+want.text) && !strings.Contains(got.Text.Short, "“orders”"+want.text) {
			t.Errorf("%q: %s, %q", became, got.Tier, got.Text.Short)
		}
	}
}

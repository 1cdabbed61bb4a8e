package server

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

func TestALookUpTellsOfAMovedMessageWhatBecameOfIt(t *testing.T) {
	for became, want := range map[string]struct{ tier, text string }{
		"":                    {dedup.Normal.String(), ""},
		jobs.BecameDone:       {dedup.Normal.String(), ""},
		jobs.BecameBack:       {dedup.Severe.String(), ", then dead again"},
		jobs.BecameFailed:     {dedup.Severe.String(), ", then failed"},
		jobs.BecameProcessing: {dedup.TierUnknown.String(), ""},
		jobs.BecameUnknown:    {dedup.TierUnknown.String(), ""},
	} {
		s := story{server: &Server{}, now: time.Now(), items: []jobs.JobItem{{ID: "m-1", At: time.Now(), Target: "orders", Outcome: "moved", Became: became}}}
		got := s.moves()[0]
		if got.Tier != want.tier || !strings.HasSuffix(got.Text.Short, "moved to orders"+want.text) && !strings.Contains(got.Text.Short, "“orders”"+want.text) {
			t.Errorf("%q: %s, %q", became, got.Tier, got.Text.Short)
		}
	}
}

func TestALookUpOfABusinessKeyTellsOfTheDeadLettersThatShowIt(t *testing.T) {
	s := stocked(t, nil)
	s.looked("inventory", inventoryDLQ, "10")
	caller := admin.Caller{Principal: auth.Principal{Name: "o", Role: auth.Operator}}
	view, err := s.morgue.Queue(t.Context(), caller, "inventory", inventoryDLQ)
	if err != nil || view.Scan == nil {
		t.Fatal(err)
	}
	letter := view.Scan.Letters[0]
	key := string(regexp.MustCompile(`A-[0-9]{4}`).Find(letter.Body))
	if key == "" || letter.ID == "" {
		t.Fatalf("no key in %s", letter.Body)
	}
	doc := s.page("operator", "/lookup?id="+key)
	if text := oneLine(doc.Find("main")); !strings.Contains(text, "of this key: seen in the dead-letter queue") || !strings.Contains(text, letter.ID) {
		t.Errorf("a look-up of %s: %.900s", key, text)
	}
	if text := oneLine(s.page("viewer", "/lookup?id="+key).Find("main")); strings.Contains(text, letter.ID) {
		t.Errorf("a viewer is told whose message it is: %.900s", text)
	}
}

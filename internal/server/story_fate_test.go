package server

import (
	"regexp"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
)

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

package letter

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

func TestABoundIsTheNumberThatAPlanMoves(t *testing.T) {
	seen := admin.Tally{admin.ClassRuns: 125}
	for want, p := range map[string]admin.MovePlan{
		"120 messages":                 {Request: admin.MoveRequest{Refs: []string{"a"}}, Ready: 300, Scanned: 300, Matching: 125, Most: 120, Classes: seen},
		"119 messages":                 {Request: admin.MoveRequest{Whole: true}, Ready: 300, Scanned: 125, Matching: 125, Most: 119, Classes: seen},
		"118 messages":                 {Request: admin.MoveRequest{Whole: true}, Ready: 300, Most: 118},
		"125 seen, up to 200 messages": {Request: admin.MoveRequest{Filter: "id:*"}, Ready: 900, Scanned: 300, Matching: 125, Most: 200, Classes: seen},
	} {
		if got := countText(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheNumberOfMessagesThatAPlanMovesIsSaidAsFarAsItIsKnown(t *testing.T) {
	seen := admin.Tally{admin.ClassRuns: 8, admin.ClassBlocks: 2}
	leaves := map[admin.Class]admin.Choice{admin.ClassBlocks: admin.LeaveOut}
	for want, p := range map[string]admin.MovePlan{
		"8 messages":                  {Request: admin.MoveRequest{Refs: []string{"a"}}, Ready: 300, Scanned: 20, Matching: 10, UpTo: 10, Classes: seen, Choices: leaves},
		"8 seen, up to 288 messages":  {Request: admin.MoveRequest{Filter: "id:*"}, Ready: 300, Scanned: 20, Matching: 10, UpTo: 290, Classes: seen, Choices: leaves},
		"10 seen, up to 100 messages": {Request: admin.MoveRequest{Filter: "id:*"}, Ready: 300, Scanned: 20, Matching: 10, UpTo: 100, Most: 100, Classes: seen},
		"10 messages":                 {Request: admin.MoveRequest{Filter: "id:*"}, Ready: 20, Scanned: 20, Matching: 10, UpTo: 10, Classes: seen},
		"up to 298 messages":          {Request: admin.MoveRequest{Whole: true}, Ready: 300, Scanned: 20, Matching: 10, UpTo: 300, Classes: seen, Choices: leaves},
	} {
		if got := countText(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheFirstMessagesAreThoseThatARequeueMoves(t *testing.T) {
	letter := func(ref, target string, class admin.Class, requeues int) admin.Letter {
		return admin.Letter{DeadLetter: dedup.DeadLetter{Ref: ref}, Target: target, NoTarget: "it has no history", Requeues: requeues, Prediction: admin.Prediction{Class: class}}
	}
	worn, homeless := letter("worn", "orders", admin.ClassRuns, 3), letter("homeless", "", admin.ClassRuns, 0)
	swallowed, runs, skipped := letter("swallowed", "orders", admin.ClassSwallowed, 0), letter("runs", "orders", admin.ClassRuns, 2), letter("skipped", "orders", admin.ClassSkipped, 0)
	all := []admin.Letter{worn, homeless, swallowed, runs, skipped, runs}
	for name, c := range map[string]struct {
		letters []admin.Letter
		most    int
		target  string
		want    string
	}{
		"those that stay take no place":                  {all, 2, "", "runs skipped"},
		"those without a queue go where they are sent":   {all, 2, "orders", "homeless runs"},
		"fewer than asked for":                           {all, 100, "", "runs skipped runs"},
		"none would go: the review of the first says so": {[]admin.Letter{worn, swallowed, worn}, 2, "", "worn swallowed"},
		"there is none":                                  {nil, 2, "", ""},
	} {
		var got []string
		for _, l := range First(c.letters, c.most, c.target) {
			got = append(got, l.Ref)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func TestAValueIsCutBetweenCharactersWhereItHasAny(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		n    int
		want int
	}{
		"a text":                         {strings.Repeat("a", 10), 4, 4},
		"in the midst of a character":    {"aaa\u20ac", 5, 3},
		"at the end of one":              {"\u20ac\u20ac", 3, 3},
		"bytes that begin no character":  {strings.Repeat("\x80", 10), 7, 7},
		"of which some do, far from it":  {"a" + strings.Repeat("\xbf", 20), 15, 15},
		"a text that is not too long":    {"abc", 3, 3},
		"no room at all":                 {"\x80\x80", 0, 0},
		"less room than a character has": {"\u20ac", 1, 0},
	} {
		if got := len(FirstBytes(c.text, c.n)); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

package letter

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/dedup"
)

func TestABoundIsTheNumberThatAPlanMoves(t *testing.T) {
	seen := preflight.Tally{preflight.ClassRuns: 125}
	for want, p := range map[string]move.Plan{
		"120 messages":                 {Request: move.Request{Refs: []string{"a"}}, Ready: 300, Scanned: 300, Matching: 125, Most: 120, Classes: seen},
		"119 messages":                 {Request: move.Request{Whole: true}, Ready: 300, Scanned: 125, Matching: 125, Most: 119, Classes: seen},
		"118 messages":                 {Request: move.Request{Whole: true}, Ready: 300, Most: 118},
		"125 seen, up to 200 messages": {Request: move.Request{Filter: "id:*"}, Ready: 900, Scanned: 300, Matching: 125, Most: 200, Classes: seen},
	} {
		if got := countText(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheNumberOfMessagesThatAPlanMovesIsSaidAsFarAsItIsKnown(t *testing.T) {
	seen := preflight.Tally{preflight.ClassRuns: 8, preflight.ClassBlocks: 2}
	leaves := map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.LeaveOut}
	for want, p := range map[string]move.Plan{
		"8 messages":                  {Request: move.Request{Refs: []string{"a"}}, Ready: 300, Scanned: 20, Matching: 10, UpTo: 10, Classes: seen, Choices: leaves},
		"8 seen, up to 288 messages":  {Request: move.Request{Filter: "id:*"}, Ready: 300, Scanned: 20, Matching: 10, UpTo: 290, Classes: seen, Choices: leaves},
		"10 seen, up to 100 messages": {Request: move.Request{Filter: "id:*"}, Ready: 300, Scanned: 20, Matching: 10, UpTo: 100, Most: 100, Classes: seen},
		"10 messages":                 {Request: move.Request{Filter: "id:*"}, Ready: 20, Scanned: 20, Matching: 10, UpTo: 10, Classes: seen},
		"up to 298 messages":          {Request: move.Request{Whole: true}, Ready: 300, Scanned: 20, Matching: 10, UpTo: 300, Classes: seen, Choices: leaves},
	} {
		if got := countText(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheFirstMessagesAreThoseThatARequeueMoves(t *testing.T) {
	letter := func(ref, target string, class preflight.Class, requeues int) deadletter.Letter {
		return deadletter.Letter{DeadLetter: dedup.DeadLetter{Ref: ref}, Target: target, NoTarget: "it has no history", Requeues: requeues, Prediction: preflight.Prediction{Class: class}}
	}
	worn, homeless := letter("worn", "orders", preflight.ClassRuns, 3), letter("homeless", "", preflight.ClassRuns, 0)
	swallowed, runs, skipped := letter("swallowed", "orders", preflight.ClassSwallowed, 0), letter("runs", "orders", preflight.ClassRuns, 2), letter("skipped", "orders", preflight.ClassSkipped, 0)
	all := []deadletter.Letter{worn, homeless, swallowed, runs, skipped, runs}
	for name, c := range map[string]struct {
		letters []deadletter.Letter
		most    int
		target  string
		want    string
	}{
		"those that stay take no place":                  {all, 2, "", "runs skipped"},
		"those without a queue go where they are sent":   {all, 2, "orders", "homeless runs"},
		"fewer than asked for":                           {all, 100, "", "runs skipped runs"},
		"none would go: the review of the first says so": {[]deadletter.Letter{worn, swallowed, worn}, 2, "", "worn swallowed"},
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

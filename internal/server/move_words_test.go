package server

import (
	"testing"

	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
)

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
		if got := moveCount(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

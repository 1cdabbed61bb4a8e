package server

import (
	"testing"

	"dedup-dashboard/internal/admin"
)

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
		if got := moveCount(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

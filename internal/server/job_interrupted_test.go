package server

import (
	"encoding/json"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
)

func TestOfAJobThatWasInterruptedCountsAndCopiesAreBoundsThatHold(t *testing.T) {
	j := jobs.Job{State: jobs.JobDone, Resumed: 1, Counts: jobs.Counts{Moved: 9104}, Extent: move.Extent{Messages: 10_000}}
	body, err := json.Marshal(jobOf(j))
	if err != nil || !strings.Contains(string(body), `"moved":9104,"moved_at_least":true`) {
		t.Errorf("%v: %s", err, body)
	}
	if body, _ = json.Marshal(jobOf(jobs.Job{Counts: jobs.Counts{Moved: 9104}})); !strings.Contains(string(body), `"moved_at_least":false`) {
		t.Errorf("without an interruption: %s", body)
	}
	said := ""
	for _, n := range jobNotes(j) {
		said += n.Text.Short
	}
	if !strings.Contains(said, "if the broker itself was killed") || !strings.Contains(said, "up to 9,104") {
		t.Errorf("of copies: %q", said)
	}
	for asked, want := range map[int]string{9895: "9,895 messages", 9000: "9,000 of 9,888 messages"} {
		j.Moved = 9888
		if got := askedText(&jobs.Aftermath{Asked: asked}, j); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

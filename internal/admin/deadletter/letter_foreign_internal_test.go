package deadletter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// hungJournal answers nothing in time.
type hungJournal struct {
	runJournal
	asked int
}

func (h *hungJournal) HasJob(ctx context.Context, _ string) (bool, error) {
	h.asked++
	<-ctx.Done()
	return false, errors.New("the disk does not answer")
}

func TestAJournalThatDoesNotAnswerHoldsALookUpOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal := &hungJournal{}
		runs := &knownRuns{journal: journal, log: slog.New(slog.DiscardHandler), known: map[string]bool{}}
		begun := time.Now()
		for i := range 1000 {
			if !runs.ours(fmt.Sprint("run-", i)) {
				t.Fatal("a count of requeues is not believed while nobody can tell")
			}
		}
		if took := time.Since(begun); journal.asked != 1 || took > knownRunsWait {
			t.Errorf("asked %d times in %s", journal.asked, took)
		}
		time.Sleep(askRunsAgain)
		if runs.ours("run-0"); journal.asked != 2 {
			t.Errorf("asked %d times once it may answer again", journal.asked)
		}
	})
}

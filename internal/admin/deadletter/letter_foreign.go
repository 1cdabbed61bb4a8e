package deadletter

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// foreign says why the headers of ours that a message has are not believed; empty when they are, or it has none. Anyone who may publish can
// write them: a count that is made up would keep a message from being requeued, or let it be requeued without end.
func (l Queue) foreign(headers map[string]any) string {
	signed := false
	for name := range headers {
		signed = signed || message.IsOwnHeader(name)
	}
	if run := message.RequeueRun(headers); !signed || l.ours == nil || run != "" && l.ours(run) {
		return ""
	}
	return "it has headers of this dashboard (dedup-…), but names no job that this dashboard knows: they are not believed, and not sent on"
}

// runJournal knows the jobs of this dashboard. It is safe for concurrent use.
type runJournal interface {
	// HolderOf returns the job that has not ended and moves messages of a queue, or "".
	HolderOf(ctx context.Context, broker string, queue dedup.QueueRef) (string, error)
	// HasJob reports whether a run is one of its jobs.
	HasJob(ctx context.Context, id string) (bool, error)
}

// knownRuns tells which runs are jobs of this dashboard. It is safe for concurrent use.
type knownRuns struct {
	journal runJournal
	log     *slog.Logger

	mu sync.Mutex
	// known has the answers of the journal, failed the time at which it gave none.
	known  map[string]bool
	failed time.Time
}

const (
	// mostRuns bounds the answers that are kept: a publisher can make up any number of names.
	mostRuns       = 1000
	knownRunsWait  = 5 * time.Second
	longestRunName = 64
	// askRunsAgain is how long a journal that gave no answer is not asked: a look meets thousands of names, one after the other.
	askRunsAgain = 10 * time.Second
)

// ours reports whether a run is a job of this dashboard. While the journal does not answer it is: the guard against too many requeues must
// hold then as well.
func (k *knownRuns) ours(run string) bool {
	if len(run) > longestRunName {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if ours, known := k.known[run]; known {
		return ours
	}
	if time.Since(k.failed) < askRunsAgain {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), knownRunsWait)
	defer cancel()
	ours, err := k.journal.HasJob(ctx, run)
	if err != nil {
		k.failed = time.Now()
		k.log.Error("whether a message was requeued by this dashboard cannot be read; its headers are believed", "err", err)
		return true
	}
	if len(k.known) >= mostRuns {
		clear(k.known)
	}
	k.known[run] = ours
	return ours
}

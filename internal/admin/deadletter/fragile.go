package deadletter

import (
	"sync"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
)

// fragileQueues are the queues out of which a message could not be moved that they destroy if it comes back a few more times, with the
// delivery limit that they had then. Until that has changed nothing more is taken out of them. It lasts as long as the program.
type fragileQueues struct {
	mu     sync.Mutex
	limits map[fragileQueue]int64
}

type fragileQueue struct {
	broker string
	queue  dedup.QueueRef
}

// Note keeps in mind how a run ended.
func (f *fragileQueues) Note(broker string, cfg requeue.Config, r requeue.Result) {
	if r.Stop != requeue.StopFragile {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.limits == nil {
		f.limits = map[fragileQueue]int64{}
	}
	f.limits[fragileQueue{broker, cfg.Queue}] = cfg.DeliveryLimit
}

// why says why nothing may be taken out of a queue; empty when it may.
func (f *fragileQueues) why(info dedup.BrokerInfo, broker string, q dedup.Queue) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, fragile := f.limits[fragileQueue{broker, q.QueueRef}]
	limit, limited, known := dedup.DeliveryLimit(info, q)
	if !fragile || known && (!limited || limit > before) {
		return ""
	}
	return requeue.StopFragile.Text()
}

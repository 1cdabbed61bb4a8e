package admin

import (
	"slices"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

const (
	// maxKeptBytes bounds what the scans of all queues hold together, roughly.
	maxKeptBytes = 2 * MaxScanBytes
	// looksKept is how many scans of one queue are kept: whoever looked before goes on reading what was found then.
	looksKept = 4
)

// A keptScan is a scan as it was seen, and the same scan as lists show it: masked, and without bodies.
type keptScan struct {
	raw, masked Scan
	bytes       int64
	// byRef finds the first letter with a reference.
	byRef map[string]int
	gone  *time.Timer
	// outdated is true once a job has moved messages into its queue or out of it.
	outdated bool
}

// A scanShelf keeps scans in memory for ScanLife, the newest few of each queue.
type scanShelf struct {
	mu    sync.Mutex
	scans map[string]*keptScan
	// order are the ids, oldest first.
	order []string
	bytes int64
}

func newScanShelf() *scanShelf { return &scanShelf{scans: map[string]*keptScan{}} }

// keep keeps a scan. When there are too many of its queue it drops the oldest of them, and when there is too much altogether first
// what newer scans of the same queue have overtaken.
func (s *scanShelf) keep(raw, masked Scan) {
	k := &keptScan{raw: raw, masked: masked, byRef: make(map[string]int, len(raw.Letters))}
	for i := range raw.Letters {
		l := &raw.Letters[i]
		k.bytes += weight(l)
		if _, ok := k.byRef[l.Ref]; !ok {
			k.byRef[l.Ref] = i
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if same := s.of(raw.Pipeline, raw.Queue); len(same) >= looksKept {
		s.drop(same[0])
	}
	s.scans[raw.ID] = k
	s.order = append(s.order, raw.ID)
	s.bytes += k.bytes
	k.gone = time.AfterFunc(ScanLife, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.scans[raw.ID] == k {
			s.drop(raw.ID)
		}
	})
	for s.bytes > maxKeptBytes && len(s.order) > 1 {
		s.drop(s.leastMissed())
	}
}

// of returns the ids of the scans of a queue, oldest first. The lock is held.
func (s *scanShelf) of(pipeline string, queue dedup.QueueRef) []string {
	var ids []string
	for _, id := range s.order {
		if k := s.scans[id]; k.raw.Pipeline == pipeline && k.raw.Queue == queue {
			ids = append(ids, id)
		}
	}
	return ids
}

// leastMissed returns the oldest scan that a newer one of its queue has overtaken, else the oldest. The lock is held.
func (s *scanShelf) leastMissed() string {
	for _, id := range s.order {
		if k := s.scans[id]; s.newestOf(k.raw.Pipeline, k.raw.Queue) != k {
			return id
		}
	}
	return s.order[0]
}

// drop forgets a scan. The lock is held.
func (s *scanShelf) drop(id string) {
	k := s.scans[id]
	k.gone.Stop()
	s.bytes -= k.bytes
	delete(s.scans, id)
	for i := range s.order {
		if s.order[i] == id {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			return
		}
	}
}

// find returns a scan that is still kept; nil when it is not.
func (s *scanShelf) find(id string) *keptScan {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scans[id]
}

// newest returns the scan of a queue; nil when none is kept.
func (s *scanShelf) newest(pipeline string, queue dedup.QueueRef) *keptScan {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newestOf(pipeline, queue)
}

// newestOf is newest with the lock held.
func (s *scanShelf) newestOf(pipeline string, queue dedup.QueueRef) *keptScan {
	if ids := s.of(pipeline, queue); len(ids) > 0 {
		return s.scans[ids[len(ids)-1]]
	}
	return nil
}

// outdate notes that the number of messages in some queues of a virtual host is not that of the scans any more.
func (s *scanShelf) outdate(vhost string, queues ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.scans {
		if k.raw.Queue.Vhost == vhost && slices.Contains(queues, k.raw.Queue.Name) {
			k.outdated = true
		}
	}
}

// outdated reports whether a job has moved messages of a queue since its newest scan.
func (s *scanShelf) outdated(pipeline string, queue dedup.QueueRef) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.newestOf(pipeline, queue)
	return k != nil && k.outdated
}

// clear forgets everything.
func (s *scanShelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.order) > 0 {
		s.drop(s.order[0])
	}
}

// weight estimates what a letter takes in memory: its body once, the rest raw and masked.
func weight(l *Letter) int64 { return int64(len(l.Body)) + 2*fieldWeight(l.Headers) + 4096 }

// fieldWeight estimates the memory of a header.
func fieldWeight(v any) int64 {
	switch v := v.(type) {
	case string:
		return int64(len(v)) + 16
	case []byte:
		return int64(len(v)) + 24
	case []any:
		var n int64 = 24
		for _, e := range v {
			n += fieldWeight(e)
		}
		return n
	case map[string]any:
		var n int64 = 48
		for name, e := range v {
			n += int64(len(name)) + 32 + fieldWeight(e)
		}
		return n
	}
	return 16
}

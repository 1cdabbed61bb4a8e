package deadletter

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

// A KeptScan is a scan as it was seen, and the same scan as lists show it: masked, and without bodies.
type KeptScan struct {
	Raw, Masked Scan
	bytes       int64
	// byRef finds the first letter with a reference.
	byRef map[string]int
	gone  *time.Timer
	// outdated is true once a job has moved messages into its queue or out of it.
	outdated bool
}

// A KeptScans keeps scans in memory for ScanLife, the newest few of each queue.
type KeptScans struct {
	mu    sync.Mutex
	scans map[string]*KeptScan
	// order are the ids, oldest first.
	order []string
	bytes int64
}

// NewKeptScans returns a KeptScans that holds none.
func NewKeptScans() *KeptScans { return &KeptScans{scans: map[string]*KeptScan{}} }

// keep keeps a scan. When there are too many of its queue it drops the oldest of them, and when there is too much altogether first
// what newer scans of the same queue have overtaken.
func (s *KeptScans) keep(raw, masked Scan) {
	k := &KeptScan{Raw: raw, Masked: masked, byRef: make(map[string]int, len(raw.Letters))}
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
func (s *KeptScans) of(pipeline string, queue dedup.QueueRef) []string {
	var ids []string
	for _, id := range s.order {
		if k := s.scans[id]; k.Raw.Pipeline == pipeline && k.Raw.Queue == queue {
			ids = append(ids, id)
		}
	}
	return ids
}

// leastMissed returns the oldest scan that a newer one of its queue has overtaken, else the oldest. The lock is held.
func (s *KeptScans) leastMissed() string {
	for _, id := range s.order {
		if k := s.scans[id]; s.newestOf(k.Raw.Pipeline, k.Raw.Queue) != k {
			return id
		}
	}
	return s.order[0]
}

// drop forgets a scan. The lock is held.
func (s *KeptScans) drop(id string) {
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

// Find returns a scan that is still kept; nil when it is not.
func (s *KeptScans) Find(id string) *KeptScan {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scans[id]
}

// Newest returns the scan of a queue; nil when none is kept.
func (s *KeptScans) Newest(pipeline string, queue dedup.QueueRef) *KeptScan {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newestOf(pipeline, queue)
}

// newestOf is newest with the lock held.
func (s *KeptScans) newestOf(pipeline string, queue dedup.QueueRef) *KeptScan {
	if ids := s.of(pipeline, queue); len(ids) > 0 {
		return s.scans[ids[len(ids)-1]]
	}
	return nil
}

// Outdate notes that the number of messages in some queues of a virtual host is not that of the scans any more.
func (s *KeptScans) Outdate(vhost string, queues ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.scans {
		if k.Raw.Queue.Vhost == vhost && slices.Contains(queues, k.Raw.Queue.Name) {
			k.outdated = true
		}
	}
}

// outdated reports whether a job has moved messages of a queue since its newest scan.
func (s *KeptScans) outdated(pipeline string, queue dedup.QueueRef) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.newestOf(pipeline, queue)
	return k != nil && k.outdated
}

// Clear forgets everything.
func (s *KeptScans) Clear() {
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

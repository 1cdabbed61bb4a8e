package events

import (
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

// mostSamples is how many samples a meter remembers: work that began before them is not measured.
const mostSamples = 4096

// A meter finds what somebody who samples something else, as the unacked messages of a queue, would have integrated of the works: a sample meets
// each work that is under way. It learns of a work when that ends.
type meter struct {
	mu sync.Mutex
	// times are those of the newest samples, in seconds of the sampler's own. Forgotten are how many there were before.
	times     []float64
	forgotten int
	// half is how many works ended since the newest sample that had met it: their line to the next one has half its area.
	half float64
	sums dedup.WorkMet
}

// begin forgets all.
func (m *meter) begin(epoch int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.times, m.forgotten, m.half, m.sums = nil, 0, 0, dedup.WorkMet{Epoch: epoch}
}

// taken is how many samples there were: what a work that begins must remember.
func (m *meter) taken() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.forgotten + len(m.times)
}

// ended takes a work that began after so many samples and ended after so many.
func (m *meter) ended(taken, until int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first, last := taken-m.forgotten, until-m.forgotten-1
	if first < 0 {
		return
	}
	m.sums.Took += took.Seconds()
	if first > last {
		return
	}
	before := m.times[max(0, first-1)]
	m.sums.Met += (m.times[last]-before)/2 + (m.times[last]-m.times[first])/2
	if last+1 < len(m.times) {
		m.sums.Met += (m.times[last+1] - m.times[last]) / 2
		return
	}
	m.half++
}

// sampled notes that a sample was taken at a time, which only grows, and returns what all so far met.
func (m *meter) sampled(at float64) dedup.WorkMet {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.times); n > 0 {
		m.sums.Met += m.half * (at - m.times[n-1]) / 2
	}
	m.half = 0
	if len(m.times) == mostSamples {
		const some = mostSamples / 4
		m.times, m.forgotten = append(m.times[:0], m.times[some:]...), m.forgotten+some
	}
	m.times = append(m.times, at)
	return m.sums
}

// Sampled notes that the unacked messages were sampled just now, at a time in seconds of the sampler's own, and returns what its samples met of the
// works that have ended.
func (l *Listener) Sampled(at float64) dedup.WorkMet { return l.meter.sampled(at) }

package shop

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Truth is what truly happened in one pipeline, as its own producers and consumers counted it.
//
// At rest Published + Resent + Requeued = Messages + DeadLetters + Lost + Queued + Unconfirmed.
type Truth struct {
	// Published counts first copies, Resent further copies of the same message. Unconfirmed are copies of which the
	// broker's confirm never came and which no consumer has settled: nobody knows whether they exist.
	Published   int64 `json:"published"`
	Resent      int64 `json:"resent"`
	Unconfirmed int64 `json:"unconfirmed"`
	// Queued counts copies that were published and are not settled yet.
	Queued int64 `json:"queued"`
	// Requeued counts copies that came back from the dead-letter queue, told by the headers that the dashboard gives them.
	Requeued int64 `json:"requeued"`
	// Messages are the deliveries that were acked: Processed + Duplicates + InFlightAcked + GaveUp. InFlightAcked are
	// swallowed: acked without the work although the work was not done.
	Messages      int64 `json:"messages"`
	Processed     int64 `json:"processed"`
	Duplicates    int64 `json:"duplicates"`
	InFlightAcked int64 `json:"in_flight_acked"`
	GaveUp        int64 `json:"gave_up"`
	// InFlight are hits on a marker in processing that were returned; Looping those of them on a marker whose owner
	// is dead, which return again and again.
	InFlight int64 `json:"in_flight"`
	Looping  int64 `json:"looping"`
	// Failures counts failed attempts, the last one of a message that was given up included.
	Failures int64 `json:"failures"`
	Crashes  int64 `json:"crashes"`
	LostAcks int64 `json:"lost_acks"`
	// Delayed counts failed attempts whose message went through the retry queue, Delay is how long it was away.
	Delayed int64        `json:"delayed"`
	Delay   Distribution `json:"delay"`
	// DeadLetters counts what the broker moved to the dead-letter queue, Deaths the same by the broker's word for the reason.
	DeadLetters int64            `json:"dead_letters"`
	Deaths      map[string]int64 `json:"deaths"`
	// Republished counts messages that a consumer gave up and published to the dead-letter queue itself: they were acked,
	// and the broker knows nothing of a death. Inherited are dead letters of an earlier day, there when the shop opened.
	Republished int64 `json:"republished"`
	Inherited   int64 `json:"inherited"`
	// Lost counts rejects that the broker dropped because the dead-letter exchange is missing.
	Lost int64 `json:"lost"`
	// Abandoned counts rejects in the middle of the work, whose marker stays.
	Abandoned int64 `json:"abandoned"`
	// DoubleEffects counts works that were completed for a message whose work had been completed before.
	DoubleEffects int64 `json:"double_effects"`
	// SettledAgain counts settlements of a copy that was settled before: the broker lost the first, as at a restart, or a
	// requeue was cut off and sent the copy twice.
	SettledAgain int64 `json:"settled_again"`
	StoreErrors  int64 `json:"store_errors"`
	// Ack is the time from the arrival of a delivery to its ack, Work the time of the work of a settled attempt.
	Ack  Distribution `json:"ack"`
	Work Distribution `json:"work"`
}

// Buried is what the dead-letter queue holds at rest, if nothing but a requeue to its source took anything out.
func (t Truth) Buried() int64 { return t.DeadLetters + t.Republished + t.Inherited - t.Requeued }

// Distribution counts durations in the buckets of docs/consumers.md, not cumulated; SumMicros is in microseconds.
type Distribution struct {
	Buckets   []int64 `json:"buckets"`
	SumMicros int64   `json:"sum_us"`
}

// Count is the number of durations.
func (d Distribution) Count() int64 {
	var count int64
	for _, n := range d.Buckets {
		count += n
	}
	return count
}

func newDistribution() Distribution {
	return Distribution{Buckets: make([]int64, len(dedup.LatencyBounds()))}
}

func (d Distribution) clone() Distribution {
	d.Buckets = slices.Clone(d.Buckets)
	return d
}

func (d *Distribution) add(took time.Duration) {
	d.Buckets[bucket(took)]++
	d.SumMicros += took.Microseconds()
}

// bucket is the index of the smallest bound that is not below the duration.
func bucket(took time.Duration) int {
	bounds := dedup.LatencyBounds()
	for i, bound := range bounds {
		if took.Seconds() <= bound {
			return i
		}
	}
	return len(bounds) - 1
}

// Report is the whole ledger at one time.
type Report struct {
	At        time.Time        `json:"at"`
	Seed      uint64           `json:"seed"`
	Pipelines map[string]Truth `json:"pipelines"`
}

// Ledger holds the truth about every pipeline. The dashboard never reads it.
type Ledger struct {
	seed    uint64
	entries map[string]*entry // fixed once made
}

// entry is the ledger of one pipeline.
type entry struct {
	mu    sync.Mutex
	truth Truth
	// open holds the copies that are not settled.
	open map[copyID]bool // false once the producer knows that its confirm is lost
	// works and olderWorks count the works per message: two generations, so that memory stays bounded.
	works, olderWorks map[string]workCount
	// dead are ids whose marker is in processing while nobody works on them.
	dead map[string]bool
	// delayed tells since when a copy waits in the retry queue.
	delayed map[copyID]time.Time
	// requeued and olderRequeued are the requeued copies that came back: two generations too.
	requeued, olderRequeued map[copyID]bool
}

// copyID tells the copies of one message apart: 0 is the first, inheritedCopy one of an earlier day. A copy that was
// requeued after its death is another one each time.
type copyID struct {
	id       string
	copy     int32
	requeues int64
}

const inheritedCopy = -1

type workCount struct{ started, completed int }

// worksKept is the number of messages after which a generation of work counts is put aside.
const worksKept = 50_000

// NewLedger makes an empty ledger for the pipelines of a configuration.
func NewLedger(config Config) *Ledger {
	ledger := &Ledger{seed: config.Seed, entries: make(map[string]*entry)}
	for _, pipeline := range config.Pipelines {
		ledger.entries[pipeline.Name] = &entry{
			truth: Truth{Ack: newDistribution(), Work: newDistribution(), Delay: newDistribution(), Deaths: make(map[string]int64)},
			open:  make(map[copyID]bool), works: make(map[string]workCount), dead: make(map[string]bool),
			delayed: make(map[copyID]time.Time), requeued: make(map[copyID]bool),
		}
	}
	return ledger
}

// Truth returns the truth about one pipeline as it is now; the zero Truth if there is no such pipeline.
func (l *Ledger) Truth(pipeline string) Truth {
	e, ok := l.entries[pipeline]
	if !ok {
		return Truth{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	truth := e.truth
	truth.Ack, truth.Work, truth.Delay = truth.Ack.clone(), truth.Work.clone(), truth.Delay.clone()
	truth.Deaths = maps.Clone(truth.Deaths)
	for _, sure := range e.open {
		if sure {
			truth.Queued++
		} else {
			truth.Unconfirmed++
		}
	}
	return truth
}

// Report returns the truth about all pipelines.
func (l *Ledger) Report() Report {
	report := Report{At: time.Now().UTC(), Seed: l.seed, Pipelines: make(map[string]Truth, len(l.entries))}
	for name := range l.entries {
		report.Pipelines[name] = l.Truth(name)
	}
	return report
}

// ServeHTTP answers with the report as JSON.
func (l *Ledger) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	// The client is gone if this fails, and there is nobody else to tell.
	_ = json.NewEncoder(w).Encode(l.Report())
}

// WriteFile writes the report to a file in one step: a reader sees the old one or the new one, whole.
func (l *Ledger) WriteFile(name string) error {
	text, err := json.MarshalIndent(l.Report(), "", "  ")
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), ".ledger-*")
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(append(text, '\n'))
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}

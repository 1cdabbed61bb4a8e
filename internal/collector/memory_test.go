package collector

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/collector/records"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
)

// fakeMemory keeps what the journal would.
type fakeMemory struct {
	mu   sync.Mutex
	kept dedup.SourceRecords
	err  error
}

func (f *fakeMemory) SourceRecords(context.Context) (dedup.SourceRecords, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kept, f.err
}

func (f *fakeMemory) KeepSourceRecords(_ context.Context, r dedup.SourceRecords) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = r
	return f.err
}

// placedBroker is a broker at an address.
type placedBroker struct {
	source.Broker
	place string
}

func (p placedBroker) Place() string { return p.place }

// A runtime is one run of the dashboard between two restarts.
type runtime struct {
	broken bool // the broker does not answer
	place  string
	lasts  time.Duration
}

// live runs the collector once and returns the health of its broker at the end, and what happened to it.
func (r runtime) live(t *testing.T, keeper records.Sources) (dedup.SourceHealth, []dedup.Event) {
	b := newBench(t, testInterval)
	b.memory = records.NewMemory(keeper, &b.beside, b.log)
	b.brokers[0].read.Samples.Place = r.place
	if r.broken {
		b.broker.set(func(f *fakeSource) { f.err = errors.New("refused") })
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	pass(r.lasts)
	status := b.Snapshot().Brokers[0]
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run ended with %v", err)
	}
	return status.Health, status.Events
}

func TestARestartGoesOnFromHowASourceWas(t *testing.T) {
	const short, long = 10 * time.Second, 9 * time.Hour
	for name, tt := range map[string]struct {
		before runtime
		away   time.Duration
		after  runtime
		// since and last are whether both are those of before; absent is whether the absence is told of.
		since, last, absent bool
	}{
		"an outage goes on":                                        {runtime{broken: true}, short, runtime{broken: true}, true, true, false},
		"it goes on over hours in which nobody asked":              {runtime{broken: true}, long, runtime{broken: true}, true, true, true},
		"it began in a pause of seconds":                           {runtime{}, short, runtime{broken: true}, false, true, false},
		"it was not seen to begin in a pause of hours":             {runtime{}, long, runtime{broken: true}, false, true, true},
		"what answers goes on to":                                  {runtime{}, short, runtime{}, true, false, false},
		"that it answered for hours is not known":                  {runtime{}, long, runtime{}, false, false, false},
		"an outage that ended in the pause":                        {runtime{broken: true}, short, runtime{}, false, false, false},
		"an outage of another server is none of this one":          {runtime{broken: true}, short, runtime{broken: true, place: "http://b"}, false, false, false},
		"a server that answers says nothing of the one that it is": {runtime{}, short, runtime{broken: true, place: "http://b"}, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				keeper := &fakeMemory{}
				runtime{lasts: 5 * time.Minute, place: "http://a"}.live(t, keeper)
				tt.before.place, tt.before.lasts = "http://a", time.Minute
				was, _ := tt.before.live(t, keeper)
				stopped := time.Now()
				pass(tt.away)
				started := time.Now()
				if tt.after.lasts = 3 * time.Second; tt.after.place == "" {
					tt.after.place = "http://a"
				}
				h, events := tt.after.live(t, keeper)
				if h.OK == tt.after.broken || h.Since.Equal(was.Since) != tt.since || !tt.since && h.Since.Before(started) {
					t.Errorf("it is OK: %v, since %s; before since %s, and started again at %s", h.OK, h.Since, was.Since, started)
				}
				if h.LastSuccess.Equal(was.LastSuccess) != tt.last {
					t.Errorf("the last answer was at %s, before at %s", h.LastSuccess, was.LastSuccess)
				}
				got := h.Away
				exact := !got.From.After(stopped) && stopped.Sub(got.From) <= testInterval && got.Until.Equal(started)
				if got.IsZero() == tt.absent || tt.absent && !exact {
					t.Errorf("it says to have been away from %s to %s, and was from %s to %s", got.From, got.Until, stopped, started)
				}
				for _, e := range events {
					if e.Kind == "source_down" && !e.At.Equal(h.Since) {
						t.Errorf("the outage began at %s, and an event says %s", h.Since, e.At)
					}
				}
			})
		})
	}
}

func TestAnOutageOutlivesManyRestartsAndIsNotCountedFromAnAnswerBeforeALongOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keeper := &fakeMemory{}
		runtime{lasts: 5 * time.Minute}.live(t, keeper)
		pass(9 * time.Hour)
		began := time.Now()
		for range 20 {
			h, _ := runtime{broken: true, lasts: 3 * time.Second}.live(t, keeper)
			if h.OK || h.Since.Sub(began) > 3*time.Second || h.Since.Before(began) || h.Away.Lasted() < 9*time.Hour {
				t.Fatalf("it began at %s, and is said to be so since %s; away for %s", began, h.Since, h.Away.Lasted())
			}
			runtime{broken: true}.live(t, keeper) // it is killed before any source was tried
			pass(50 * time.Second)                // which is an absence too, and not the longest
		}
		if h, _ := (runtime{lasts: 3 * time.Second}).live(t, keeper); !h.OK || !h.Away.IsZero() {
			t.Errorf("once it answers: %+v", h)
		}
	})
}

func TestARunThatTriedNothingForgetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keeper := &fakeMemory{}
		was, _ := runtime{lasts: 5 * time.Minute}.live(t, keeper)
		runtime{}.live(t, keeper)
		if h, _ := (runtime{lasts: 3 * time.Second}).live(t, keeper); !h.OK || !h.Since.Equal(was.Since) {
			t.Errorf("it answers since %s, and is said to do so since %s", was.Since, h.Since)
		}
		runtime{}.live(t, keeper)
		began := time.Now()
		if h, _ := (runtime{broken: true, lasts: 3 * time.Second}).live(t, keeper); h.OK || h.Since.Before(began) {
			t.Errorf("it was first missed after %s, and is said to be so since %s", began, h.Since)
		}
	})
}

func TestAClockThatWasSetBackMakesNoOutageShorter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keeper := &fakeMemory{}
		runtime{lasts: 5 * time.Minute}.live(t, keeper)
		was, _ := runtime{broken: true, lasts: 10 * time.Minute}.live(t, keeper)
		lasted := keeper.kept.Kept.Sub(was.Since)
		// To this run the kept times are those of a clock that was two hours ahead.
		keeper.kept.Kept = keeper.kept.Kept.Add(2 * time.Hour)
		for i := range keeper.kept.Sources {
			r := &keeper.kept.Sources[i]
			r.LastSuccess, r.Since = r.LastSuccess.Add(2*time.Hour), r.Since.Add(2*time.Hour)
		}
		started := time.Now()
		h, _ := runtime{broken: true, lasts: 3 * time.Second}.live(t, keeper)
		if got := started.Sub(h.Since); got != lasted || !h.Away.IsZero() || h.Since.Sub(h.LastSuccess) != was.Since.Sub(was.LastSuccess) {
			t.Errorf("it had lasted for %s, and after the restart for %s: %+v", lasted, got, h)
		}
	})
}

func TestWithoutWhatWasKeptSourcesBeginAnew(t *testing.T) {
	for name, keeper := range map[string]records.Sources{
		"a first start": &fakeMemory{}, "a journal that fails": &fakeMemory{err: errors.New("disk full")}, "no journal": nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started := time.Now()
				h, _ := runtime{broken: true, lasts: 3 * time.Second}.live(t, keeper)
				if h.OK || !h.Tried || h.Since.Before(started) || !h.LastSuccess.IsZero() || !h.Away.IsZero() || !strings.Contains(h.Err, "refused") {
					t.Errorf("it is %+v", h)
				}
			})
		})
	}
}

func TestASourceThatLeftTheConfigurationIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := dedup.SourceRecord{Name: "store of old", Since: time.Now()}
		keeper := &fakeMemory{kept: dedup.SourceRecords{Kept: time.Now(), Sources: []dedup.SourceRecord{old}}}
		runtime{lasts: 3 * time.Second}.live(t, keeper)
		for _, r := range keeper.kept.Sources {
			if r.Name == "store of old" {
				t.Errorf("it is still kept: %+v", r)
			}
		}
		if len(keeper.kept.Sources) != 5 { // broker, totals, two stores, reported
			t.Errorf("kept are %+v", keeper.kept.Sources)
		}
	})
}

func TestASourceHasThePlaceOfWhatItReads(t *testing.T) {
	w := source.NewBrokerReader(placedBroker{&fakeSource{}, "http://a"}, testInterval, testInterval/2, nil, nil)
	if w.Samples.Place != "http://a" || w.Totals.Place != "http://a" {
		t.Errorf("the broker is at %q, its totals at %q", w.Samples.Place, w.Totals.Place)
	}
}

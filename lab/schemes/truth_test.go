package schemes_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/schemes"
)

// sqlServers are shared by the tests of this package.
var sqlServers markerstest.SQLServers

func TestMain(m *testing.M) { goleak.VerifyTestMain(stopping{m}, markerstest.ClosedPools()) }

type stopping struct{ m *testing.M }

func (s stopping) Run() int {
	code := s.m.Run()
	if err := sqlServers.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// worker is the work of a consumer: each id does what its script says, and succeeds when that is empty.
type worker struct {
	script map[string][]error
	done   map[string]int
}

func newWorker() *worker { return &worker{script: map[string][]error{}, done: map[string]int{}} }

func (w *worker) work(_ context.Context, id string) error {
	if next := w.script[id]; len(next) > 0 {
		w.script[id] = next[1:]
		return next[0]
	}
	w.done[id]++
	return nil
}

var errFails = errors.New("the work fails")

// A bed is one scheme with real consumers on a real store.
type bed struct {
	name     string
	store    markers.Store
	consumer schemes.Consumer
	worker   *worker
	// spoil changes the marker of an id by other means than a consumer: it gives it an expiry, or another value.
	spoil func(t *testing.T, id, how string)
	// clear deletes the marker with this key.
	clear func(t *testing.T, key string)
	// ends are the keys that were made to end soon.
	ends      []string
	scenarios []scenario
}

// A scenario is a state of the store, and what must be predicted of a message that is requeued then.
type scenario struct {
	name string
	// attempts are what becomes of earlier deliveries of the message: nil is work that was done.
	attempts []error
	// spoil says how the marker is changed afterwards, empty for not at all.
	spoil string
	// as turns the message's id into the one that was worked on before; nil for the same.
	as   func(string) string
	age  time.Duration
	want preflight.Class
	// until is true where the end of a block must be told.
	until bool
}

// expected is when messages will be consumed: later than the markers end that are made to end soon, and before any other does.
const expected = 2 * time.Minute

// TestPreflightAgainstTruth sends dead letters of each scheme to real consumers, for every state of its markers, and compares what
// became of each with what was predicted.
func TestPreflightAgainstTruth(t *testing.T) {
	broker := startBroker(t)
	wrongRuns, wrongSkipped, handled := 0, 0, 0
	seen := map[preflight.Class]int{}
	for _, b := range beds(t) {
		t.Run(b.name, func(t *testing.T) {
			queues := broker.queues(t, b.name)
			trial := &trial{bed: b, queues: queues}
			for i, s := range b.scenarios {
				for _, suffix := range []string{"ok", "fail", "clear"} {
					trial.add(t, s, fmt.Sprintf("%s-%d-%s", strings.ToLower(strings.ReplaceAll(b.name, " ", "-")), i, suffix), suffix)
				}
			}
			trial.predict(t)
			for _, c := range trial.cases {
				handled++
				seen[c.predicted.Class]++
				trial.check(t, c)
				if c.predicted.Class == preflight.ClassRuns && !c.truth.ran {
					wrongRuns++
				}
				if c.predicted.Class == preflight.ClassSkipped && (c.truth.ran || c.doneBefore == 0) {
					wrongSkipped++
				}
			}
		})
	}
	t.Logf("%d messages handled; predicted %v; %d wrong runs, %d wrong skipped", handled, seen, wrongRuns, wrongSkipped)
	for _, c := range preflight.Classes() {
		if seen[c] == 0 {
			t.Errorf("no message was predicted %s", c)
		}
	}
	if wrongRuns+wrongSkipped > 0 {
		t.Errorf("%d wrong runs, %d wrong skipped", wrongRuns, wrongSkipped)
	}
}

// outcome is what became of a message.
type outcome struct {
	ran     bool
	settled schemes.Settlement
	err     error
}

// trialCase is one message of a scenario. Its last delivery succeeds, fails, or succeeds after its marker was cleared.
type trialCase struct {
	scenario
	id, suffix string
	predicted  preflight.Predicted
	doneBefore int
	truth      outcome
}

type trial struct {
	*bed
	queues *queues
	cases  []*trialCase
}

// add makes a message a dead letter and puts its marker into the state of the scenario.
func (r *trial) add(t *testing.T, s scenario, id, suffix string) {
	t.Helper()
	if s.as != nil && s.name == longID {
		id = s.as(id)
		s.as = nil
	}
	r.queues.publish(t, id, time.Now().Add(-s.age))
	r.queues.bury(t)
	worked := id
	if s.as != nil {
		worked = s.as(id)
	}
	r.worker.script[worked] = slices.Clone(s.attempts)
	for range s.attempts {
		if _, _, err := r.consumer.Handle(t.Context(), worked); err != nil && !errors.Is(err, schemes.ErrDied) {
			t.Fatalf("%s: %v", s.name, err)
		}
	}
	if s.spoil != "" {
		r.spoil(t, worked, s.spoil)
	}
	c := &trialCase{scenario: s, id: id, suffix: suffix}
	for _, a := range s.attempts {
		if a == nil && worked == id { // work under another id is that of another message
			c.doneBefore++
		}
	}
	r.cases = append(r.cases, c)
}

// predict asks for a preflight of all dead letters, ends the short-lived markers, then sends each letter to its consumer. Their end
// is not waited for: they have to live until they were read, however slow the machine is.
func (r *trial) predict(t *testing.T) {
	t.Helper()
	p, err := preflight.New([]dedup.Pipeline{{Name: "p", Store: r.store.Name(), IDFrom: "message_id"}},
		[]preflight.Store{{Name: r.store.Name(), Scheme: r.store.Scheme(), Finder: r.store}})
	if err != nil {
		t.Fatal(err)
	}
	letters := r.queues.dead(t)
	got, err := p.Preflight(t.Context(), "p", letters, time.Now().Add(expected))
	if err != nil || got.StoreFailed != "" || len(got.Letters) != len(r.cases) {
		t.Fatalf("preflight of %d letters: %d, %q, %v", len(r.cases), len(got.Letters), got.StoreFailed, err)
	}
	for i, c := range r.cases {
		if letters[i].MessageID != c.id {
			t.Fatalf("letter %d is %s, want %s", i, letters[i].MessageID, c.id)
		}
		c.predicted = got.Letters[i]
	}
	for _, key := range r.ends {
		r.clear(t, key)
	}
	for _, c := range r.cases {
		if c.suffix == "clear" && c.predicted.ClearFirst && c.predicted.Marker != nil {
			r.clear(t, c.predicted.Marker.Key)
		}
		if c.suffix == "fail" {
			r.worker.script[c.id] = []error{errFails}
		}
		c.truth = r.queues.requeue(t, c.id, r.consumer)
	}
}

// check compares what was predicted of a message with what must be, and with what became of it.
func (r *trial) check(t *testing.T, c *trialCase) {
	t.Helper()
	wrong := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s (%s): predicted %s because %s; done before %d times, then %+v: %s",
			c.name, c.suffix, c.predicted.Class, c.predicted.Why(), c.doneBefore, c.truth, fmt.Sprintf(format, args...))
	}
	if c.predicted.Class != c.want {
		wrong("want %s", c.want)
	}
	if len(c.predicted.Reasons) == 0 || c.predicted.Until.IsZero() == c.until {
		wrong("until %v", c.predicted.Until)
	}
	if c.until && c.predicted.Until.Sub(time.UnixMilli(c.predicted.Marker.ExpiresMillis)).Abs() > 20*time.Second {
		wrong("until %v, but the marker ends at %v", c.predicted.Until, time.UnixMilli(c.predicted.Marker.ExpiresMillis))
	}
	if c.suffix == "clear" && c.predicted.ClearFirst {
		if !c.truth.ran || c.truth.settled != schemes.Acked {
			wrong("its marker was cleared first, and it did not run")
		}
		return
	}
	if why := contradicts(c, r.store.Scheme()); why != "" {
		wrong("%s", why)
	}
}

// contradicts says why the truth is not what the class means.
func contradicts(c *trialCase, s dedup.Scheme) string {
	fails := c.suffix == "fail"
	switch o := c.truth; c.predicted.Class {
	case preflight.ClassUnknown:
		return ""
	case preflight.ClassRuns:
		switch {
		case !o.ran || o.err != nil:
			return "it did not run"
		case fails && o.settled == schemes.Acked:
			return "it failed and was acked: that was its last attempt"
		}
	case preflight.ClassLastAttempt:
		if !o.ran || o.settled != schemes.Acked {
			return "it did not run, or came back after its failure"
		}
	case preflight.ClassMayRunTwice:
		if !o.ran && s.Kind != "sql-table" {
			return "it did not run"
		}
	case preflight.ClassSkipped:
		if o.ran || o.settled != schemes.Acked || c.doneBefore == 0 {
			return "it was not skipped, or its work was never done"
		}
	case preflight.ClassSwallowed:
		if o.ran || o.settled != schemes.Acked || c.doneBefore > 0 {
			return "it was not swallowed, or its work was done"
		}
	case preflight.ClassPerhapsSwallowed:
		if o.ran || o.settled != schemes.Acked {
			return "it was not swallowed"
		}
	case preflight.ClassBlocks:
		if o.ran || o.settled != schemes.Requeued {
			return "it did not block"
		}
	}
	return ""
}

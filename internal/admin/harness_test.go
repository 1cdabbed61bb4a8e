package admin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a store in memory that really compares: it changes nothing that is not exactly as it was seen.
type shelf struct {
	mu      sync.Mutex
	server  string
	now     func() time.Time // our clock
	markers map[string]dedup.Sighting
	clears  map[string]int // successful clears by key
	err     error          // of every reading
	// jitter is how much later each reading says that a marker expires, as servers do that tell only what is left.
	jitter int64
	// before is called before a marker is changed, outside the lock.
	before func(ctx context.Context, key string)
}

func newShelf() *shelf {
	return &shelf{server: "run-1", now: time.Now, markers: map[string]dedup.Sighting{}, clears: map[string]int{}}
}

func (s *shelf) put(m dedup.Sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.Store = "orders"
	m.Type = "string"
	if m.Value == nil {
		m.Value = []byte(m.State)
	}
	if m.ExpiresMillis != dedup.NoExpiry {
		m.Expires = time.UnixMilli(m.ExpiresMillis)
	}
	s.markers[m.Key] = m
}

func (s *shelf) has(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.markers[key]
	return ok
}

func (s *shelf) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.markers, key)
}

func (s *shelf) Look(_ context.Context, keys []string) ([]*dedup.Sighting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*dedup.Sighting, len(keys))
	for i, k := range keys {
		if m, ok := s.markers[k]; ok {
			m.Server, m.At = s.server, s.now()
			if m.ExpiresMillis != dedup.NoExpiry {
				m.ExpiresMillis += s.jitter
			}
			out[i] = &m
		}
	}
	return out, s.err
}

func (s *shelf) Lookup(_ context.Context, term string) ([]dedup.Sighting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []dedup.Sighting
	for _, m := range s.markers {
		if m.ID == term || m.BusinessKey == term {
			m.At = s.now()
			found = append(found, m)
		}
	}
	return found, s.err
}

func (s *shelf) Browse(context.Context, dedup.MarkerQuery) (dedup.MarkerPage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page := dedup.MarkerPage{At: s.now()}
	for _, m := range s.markers {
		page.Markers = append(page.Markers, m.Marker)
	}
	return page, s.err
}

func (s *shelf) enter(ctx context.Context, key string) {
	if s.before != nil {
		s.before(ctx, key)
	}
	s.mu.Lock()
}

func (s *shelf) compare(seen dedup.Sighting) *dedup.Outcome {
	now, ok := s.markers[seen.Key]
	switch {
	case !ok:
		return &dedup.Outcome{Result: dedup.Gone}
	case string(now.Value) != string(seen.Value) || now.ExpiresMillis-seen.ExpiresMillis > 100 || seen.ExpiresMillis-now.ExpiresMillis > 100 || now.Type != seen.Type:
		return &dedup.Outcome{Result: dedup.Changed, Text: "now " + string(now.State) + " again", Now: &now}
	}
	return nil
}

func (s *shelf) Clear(ctx context.Context, seen dedup.Sighting, _ bool, keep func(dedup.Sighting) error) dedup.Outcome {
	s.enter(ctx, seen.Key)
	defer s.mu.Unlock()
	if out := s.compare(seen); out != nil {
		return *out
	}
	if err := keep(s.markers[seen.Key]); err != nil {
		return dedup.Outcome{Result: dedup.Refused, Text: "the image could not be kept"}
	}
	delete(s.markers, seen.Key)
	s.clears[seen.Key]++
	return dedup.Outcome{Result: dedup.Cleared}
}

func (s *shelf) Expire(ctx context.Context, seen dedup.Sighting, ttl time.Duration) dedup.Outcome {
	s.enter(ctx, seen.Key)
	defer s.mu.Unlock()
	if out := s.compare(seen); out != nil {
		return *out
	}
	m := s.markers[seen.Key]
	m.ExpiresMillis = time.Now().Add(ttl).UnixMilli()
	s.markers[seen.Key] = m
	return dedup.Outcome{Result: dedup.ExpirySet, Now: &m}
}

func (s *shelf) Restore(ctx context.Context, image dedup.Sighting) dedup.Outcome {
	s.enter(ctx, image.Key)
	defer s.mu.Unlock()
	if now, there := s.markers[image.Key]; there {
		return dedup.Outcome{Result: dedup.Refused, Text: "the id has a marker again", Now: &now}
	}
	s.markers[image.Key] = image
	return dedup.Outcome{Result: dedup.Restored, Now: &image}
}

// round is what the collector knows.
type round struct {
	mu   sync.Mutex
	snap *dedup.Snapshot
}

func (r *round) Snapshot() *dedup.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snap
}

func (r *round) set(snap *dedup.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snap = snap
}

// desk is Markers over a real journal and a shelf.
type desk struct {
	*admin.Markers
	deps  admin.MarkersDeps
	db    *journal.DB
	shelf *shelf
	round *round
	clock *clock
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// verdicts judges by a word in the id, so that tests choose the verdict; evidence that is missing leaves nothing to tell.
func verdicts(m dedup.Marker, e dedup.Evidence, _ dedup.Scheme) (dedup.Verdict, []string) {
	switch {
	case e.Missing != "":
		return dedup.CannotTell, []string{e.Missing}
	case strings.Contains(m.ID, "alive"):
		return dedup.StillWorking, []string{"a delivery is out"}
	case strings.Contains(m.ID, "unsure"):
		return dedup.CannotTell, []string{"a delivery may be out"}
	case strings.Contains(m.ID, "orphan"):
		return dedup.Orphan, []string{"the queues were empty"}
	}
	return dedup.ProbablyDead, []string{"nothing was out"}
}

var scheme = dedup.Scheme{Preset: "redis-text-status", Kind: "redis-string", Mark: "before", OnInFlight: "nack", OnFail: "keep", GiveUp: 5, DoneTTL: 72 * time.Hour}

// newDesk returns a desk; change, if any, changes what it works with.
func newDesk(t *testing.T, change func(*admin.MarkersDeps, *journal.DB)) *desk {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	db, err := journal.Open(context.Background(), t.TempDir(), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	d := &desk{db: db, shelf: newShelf(), round: &round{}, clock: &clock{now: time.Now()}}
	d.shelf.now = d.clock.Now
	d.round.set(d.snapshot(dedup.Evidence{}, nil))
	d.deps = admin.MarkersDeps{
		Gate: admin.NewGate(db.Audit(), db, log), Trail: db.Audit(), Journal: db.Operations(), Snapshots: d.round,
		Stores: []admin.MarkerStore{
			{Name: "orders", Scheme: scheme, Reader: d.shelf, Actor: d.shelf},
			{Name: "watched", Scheme: scheme, Reader: d.shelf},
		},
		Judge: verdicts, Log: log, Now: d.clock.Now,
	}
	if change != nil {
		change(&d.deps, db)
	}
	d.Markers = admin.NewMarkers(d.deps)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := d.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return d
}

// restart replaces Markers as a new run of the program would, over the same journal and store.
func (d *desk) restart(t *testing.T) {
	t.Helper()
	if err := d.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	d.Markers = admin.NewMarkers(d.deps)
}

func (d *desk) snapshot(e dedup.Evidence, pass *dedup.Pass) *dedup.Snapshot {
	return &dedup.Snapshot{At: d.clock.Now(), Interval: 15 * time.Second, Stores: []dedup.StoreStatus{
		{Name: "orders", Scheme: scheme, Stats: dedup.StoreStats{Pass: pass}, Evidence: e},
	}}
}

// recoverOnce lets the recovery try once, whether it succeeds or not.
func (d *desk) recoverOnce(t *testing.T) {
	t.Helper()
	tidied := make(chan struct{})
	deps := d.deps
	deps.Journal = purges{deps.Journal, tidied}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- admin.NewMarkers(deps).Run(ctx) }()
	<-tidied
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// recoverNow runs the recovery until nothing is left to recover.
func (d *desk) recoverNow(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	for {
		left, err := d.db.Operations().Unfinished(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			break
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func caller(name string, role auth.Role) admin.Caller {
	return admin.Caller{Principal: auth.Principal{Name: name, Role: role, Method: "session"}, From: "192.0.2.7"}
}

var (
	viewer   = caller("vera", auth.Viewer)
	operator = caller("otto", auth.Operator)
	ada      = caller("ada", auth.Admin)
	bob      = caller("bob", auth.Admin)
)

// processing returns a marker that is processing and expires in ten minutes.
func processing(id string) dedup.Sighting {
	return dedup.Sighting{
		Marker:        dedup.Marker{ID: id, Key: "msg:" + id, State: dedup.Processing, Since: time.Now().Add(-time.Hour)},
		ExpiresMillis: time.Now().Add(10 * time.Minute).UnixMilli(),
	}
}

func inState(id string, state dedup.State) dedup.Sighting {
	s := processing(id)
	s.State = state
	return s
}

func forever(s dedup.Sighting) dedup.Sighting {
	s.ExpiresMillis, s.Expires = dedup.NoExpiry, time.Time{}
	return s
}

// plan plans to clear the keys of these ids.
func (d *desk) plan(t *testing.T, who admin.Caller, ids ...string) admin.Plan {
	t.Helper()
	req := admin.PlanRequest{Deed: admin.ClearMarkers, Store: "orders"}
	for _, id := range ids {
		req.Keys = append(req.Keys, "msg:"+id)
	}
	p, err := d.Plan(context.Background(), who, req)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const why = "stuck since the crash of worker 7"

// execute carries a plan out and waits for its end.
func (d *desk) execute(t *testing.T, who admin.Caller, p admin.Plan) admin.Operation {
	t.Helper()
	id, err := d.Execute(context.Background(), who, admin.ExecuteRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
	if err != nil {
		t.Fatal(err)
	}
	return d.ended(t, id)
}

// ended waits until an operation has ended.
func (d *desk) ended(t *testing.T, id string) admin.Operation {
	t.Helper()
	return d.when(t, id, func(o admin.Operation) bool { return !o.Ended.IsZero() })
}

// when waits until an operation is as wanted.
func (d *desk) when(t *testing.T, id string, wanted func(admin.Operation) bool) admin.Operation {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		o, err := d.Operation(context.Background(), operator, id)
		if err != nil {
			t.Fatal(err)
		}
		if wanted(o) {
			return o
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-limit:
			t.Fatalf("operation %s never came so far: %+v", id, o)
		}
	}
}

// results returns the results of an operation in the order of its items.
func results(o admin.Operation) string {
	words := make([]string, len(o.Outcomes))
	for i, out := range o.Outcomes {
		words[i] = string(out.Outcome.Result)
		switch {
		case out.Begun:
			words[i] = "begun"
		case out.At.IsZero():
			words[i] = "not tried"
		}
	}
	return strings.Join(words, ", ")
}

// trail returns "action phase" of each audit entry of an operation, oldest first.
func (d *desk) trail(t *testing.T, operation string) []string {
	t.Helper()
	entries, err := d.Audit(context.Background(), operator, admin.AuditQuery{Limit: 500, Operation: operation})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for i := len(entries) - 1; i >= 0; i-- {
		words = append(words, entries[i].Action+" "+entries[i].Phase)
	}
	return words
}

// spoken counts the intents and the outcomes of an operation in the audit, by target.
func (d *desk) spoken(t rapid.TB, operation string) (intents, outcomes map[string]int) {
	entries, err := d.Audit(context.Background(), operator, admin.AuditQuery{Limit: 500, Operation: operation})
	if err != nil {
		t.Fatal(err)
	}
	intents, outcomes = map[string]int{}, map[string]int{}
	for _, e := range entries {
		if e.Phase == admin.Intent {
			intents[e.Target]++
		} else {
			outcomes[e.Target]++
		}
	}
	return intents, outcomes
}

// fuse lets a number of calls pass and fails every one after that, as if the program were dead by then.
type fuse struct {
	mu   sync.Mutex
	left int // negative: never blows
	// late lets the call at which it blows take effect: the program dies right after it.
	late bool
}

var errDead = errors.New("the program is dead")

// burn returns whether the call takes effect, and its error.
func (f *fuse) burn() (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.left < 0:
		return true, nil
	case f.left > 0:
		f.left--
		return true, nil
	}
	effect := f.late
	f.late = false
	return effect, errDead
}

// set lets so many calls pass from now on.
func (f *fuse) set(left int, late bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.late = left, late
}

// blown reports whether nothing takes effect any more.
func (f *fuse) blown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left == 0
}

// through makes a call through the fuse.
func (f *fuse) through(call func() error) error {
	effect, dead := f.burn()
	if effect {
		if err := call(); err != nil {
			return err
		}
	}
	return dead
}

// fusedAudit, fusedJournal and fusedActor die with the fuse.
type fusedAudit struct {
	*fuse
	audit interface {
		Record(context.Context, admin.Entry) error
	}
}

func (a fusedAudit) Record(ctx context.Context, e admin.Entry) error {
	return a.through(func() error { return a.audit.Record(ctx, e) })
}

type fusedJournal struct {
	admin.MarkerJournal
	*fuse
}

func (j fusedJournal) SavePlan(ctx context.Context, p admin.Plan) error {
	return j.through(func() error { return j.MarkerJournal.SavePlan(ctx, p) })
}

func (j fusedJournal) Begin(ctx context.Context, o admin.Operation, token string) (id string, err error) {
	dead := j.through(func() error { id, err = j.MarkerJournal.Begin(ctx, o, token); return err })
	return id, dead
}

func (j fusedJournal) End(ctx context.Context, id string, at time.Time, interrupted bool, stopped string) error {
	return j.through(func() error { return j.MarkerJournal.End(ctx, id, at, interrupted, stopped) })
}

func (j fusedJournal) Try(ctx context.Context, operation string, item int, at time.Time) error {
	return j.through(func() error { return j.MarkerJournal.Try(ctx, operation, item, at) })
}

func (j fusedJournal) Done(ctx context.Context, operation string, out admin.ItemOutcome) error {
	return j.through(func() error { return j.MarkerJournal.Done(ctx, operation, out) })
}

func (j fusedJournal) Keep(ctx context.Context, operation string, item int, image dedup.Sighting, until time.Time) error {
	return j.through(func() error { return j.MarkerJournal.Keep(ctx, operation, item, image, until) })
}

func (j fusedJournal) Claim(ctx context.Context, operation string, item int, restore, interrupted string) (image dedup.Sighting, err error) {
	dead := j.through(func() error {
		image, err = j.MarkerJournal.Claim(ctx, operation, item, restore, interrupted)
		return err
	})
	return image, dead
}

// fusedActor dies right before or right after it has changed the marker.
type fusedActor struct {
	*shelf
	*fuse
}

func (a fusedActor) Clear(ctx context.Context, seen dedup.Sighting, alsoRetry bool, keep func(dedup.Sighting) error) dedup.Outcome {
	out := dedup.Outcome{Result: dedup.NotDone}
	if err := a.through(func() error { out = a.shelf.Clear(ctx, seen, alsoRetry, keep); return nil }); err != nil {
		out.Text = fmt.Sprint(err)
	}
	return out
}

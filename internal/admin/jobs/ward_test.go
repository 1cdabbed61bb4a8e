package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/admintest"
	"dedup-dashboard/lab/markerstest"
)

const why = "stuck since the crash of worker 7"

var (
	viewer   = admintest.Caller("vera", auth.Viewer)
	operator = admintest.Caller("otto", auth.Operator)
	ada      = admintest.Caller("ada", auth.Admin)
)

var scheme = dedup.Scheme{Preset: "redis-text-status", Kind: "redis-string", Mark: "before", OnInFlight: "nack", OnFail: "keep", GiveUp: 5, DoneTTL: 72 * time.Hour}

// deadLetters are the services of DeadLetters as one, as the pages have them.
type deadLetters struct {
	*deadletter.Scans
	*move.Planner
	*jobs.Moves
	whole *jobs.DeadLetters
}

func newDeadLetters(deps jobs.DeadLettersDeps) *deadLetters {
	d := jobs.NewDeadLetters(deps)
	return &deadLetters{d.Scans, d.Planner, d.Moves, d}
}

func (d *deadLetters) Run(ctx context.Context) error { return d.whole.Run(ctx) }

func (d *deadLetters) Close(ctx context.Context) error { return d.whole.Close(ctx) }

// A ward is DeadLetters over a real journal, and a broker and a store in memory.
type ward struct {
	*deadLetters
	deps  jobs.DeadLettersDeps
	db    *journal.DB
	dir   string
	round *admintest.Round
	clock *admintest.Clock
	// broken makes every write of a job's progress fail.
	broken *brokenJobs

	mu sync.Mutex
	// queues are the messages of each queue, facts what the management API says of it.
	queues map[string][]message.Message
	facts  map[string]dedup.Queue
	// down makes the store fail; markers are the states by id.
	down    bool
	markers map[string]dedup.State
	// attempts is how often each message has failed, as its marker tells.
	attempts int64
	// looking is called while a look holds messages, outside the lock.
	looking func()
	// each is called after each batch of a run, outside the lock.
	each func(context.Context)
}

// brokenJobs is a journal whose progress cannot be written while broken.
type brokenJobs struct {
	jobs.JobJournal
	mu     sync.Mutex
	broken bool
}

func (b *brokenJobs) set(broken bool) { b.mu.Lock(); b.broken = broken; b.mu.Unlock() }

func (b *brokenJobs) SaveJob(ctx context.Context, j jobs.Job, items []jobs.JobItem) error {
	b.mu.Lock()
	broken := b.broken
	b.mu.Unlock()
	if broken {
		return errors.New("disk full")
	}
	return b.JobJournal.SaveJob(ctx, j, items)
}

// earlierRun is a run that the journal of every ward knows.
const earlierRun = "a run of this dashboard"

func (b *brokenJobs) JobSummary(ctx context.Context, id string) (jobs.JobSummary, bool, error) {
	if id == earlierRun {
		return jobs.JobSummary{ID: id}, true, nil
	}
	return b.JobJournal.JobSummary(ctx, id)
}

// requeued gives a message of the dead-letter queue the headers of one that this dashboard has requeued before.
func (w *ward) requeued(i int, times int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.markRequeued(i, times)
}

// markRequeued is requeued where the lock is held.
func (w *ward) markRequeued(i int, times int64) {
	headers := w.queues[deadQueue.Name][i].Headers
	headers[message.HeaderRequeueRun], headers[message.HeaderRequeueCount] = earlierRun, times
}

var deadQueue = dedup.QueueRef{Vhost: "/", Name: "orders.dead"}

func newWard(t *testing.T, change ...func(*jobs.DeadLettersDeps)) *ward {
	t.Helper()
	log := markerstest.Log(t)
	dir := t.TempDir()
	db, err := journal.Open(context.Background(), dir, log)
	admintest.Must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	w := &ward{
		db: db, dir: dir, round: &admintest.Round{}, clock: admintest.NewClock(time.Now()), broken: &brokenJobs{JobJournal: db.Jobs()},
		queues: map[string][]message.Message{}, facts: map[string]dedup.Queue{}, markers: map[string]dedup.State{},
	}
	for _, name := range []string{"orders", deadQueue.Name} {
		w.facts[name] = dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: name}, Type: "classic", State: "running", Durable: true}
	}
	pipeline := dedup.Pipeline{Name: "orders", Broker: "main", Vhost: "/", Queues: []string{"orders"}, Store: "shop", IDFrom: "message_id", MaxProcessing: time.Millisecond, Limits: dedup.DefaultLimits()}
	w.round.Set(&dedup.Snapshot{
		At: time.Now(), Brokers: []dedup.BrokerStatus{{Name: "main", Info: dedup.BrokerInfo{Version: "3.10.8"}}},
		Pipelines: []dedup.PipelineStatus{{Pipeline: pipeline, DeadLetterQueues: []dedup.DeadLetterQueue{{QueueRef: deadQueue, Type: "classic"}}}},
	})
	stores := []preflight.Store{{Name: "shop", Scheme: scheme, Finder: w}}
	preflight, err := preflight.New([]dedup.Pipeline{pipeline}, stores)
	admintest.Must(t, err)
	w.deps = jobs.DeadLettersDeps{
		Gate: admin.NewGate(db.Audit(), db, log), Journal: w.broken, Snapshots: w.round, Pipelines: []dedup.Pipeline{pipeline}, Log: log, Now: w.clock.Now,
		Brokers: []deadletter.Broker{{Name: "main", Watch: wardWatch{w}, Mover: w}}, Stores: stores, Preflight: preflight, Watch: 100 * time.Millisecond, Run: w.run,
	}
	for _, c := range change {
		c(&w.deps)
	}
	w.deadLetters = newDeadLetters(w.deps)
	t.Cleanup(func() { admintest.Must(t, w.Close(context.Background())) })
	return w
}

// die puts dead letters into the dead-letter queue.
func (w *ward) die(ids ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		m := message.Message{Body: []byte(`{"id":1}`)}
		m.MessageID, m.Timestamp = id, time.Now()
		m.Headers = map[string]any{"x-death": []any{map[string]any{"queue": "orders", "reason": "rejected", "count": int64(1), "time": time.Now().Truncate(time.Second)}}}
		w.queues[deadQueue.Name] = append(w.queues[deadQueue.Name], m)
	}
}

func (w *ward) holds(queue string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := make([]string, 0, len(w.queues[queue]))
	for _, m := range w.queues[queue] {
		ids = append(ids, m.MessageID)
	}
	return ids
}

// wardWatch is the management API of a ward.
type wardWatch struct{ w *ward }

func (b wardWatch) Queue(_ context.Context, ref dedup.QueueRef) (dedup.Queue, error) {
	return b.w.described(ref)
}

func (w *ward) described(ref dedup.QueueRef) (dedup.Queue, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q, ok := w.facts[ref.Name]
	if !ok {
		return dedup.Queue{}, &dedup.Error{Kind: dedup.NotFound, Public: "there is no such queue"}
	}
	n := int64(len(w.queues[ref.Name]))
	if q.Ready == nil {
		q.Ready, q.Messages = &n, &n
	}
	return q, nil
}

func (w *ward) Peek(_ context.Context, ref dedup.QueueRef, limit int, _ int64) (dedup.Peek, error) {
	if w.looking != nil {
		held := w.take(ref.Name, limit)
		w.looking()
		w.mu.Lock()
		w.queues[ref.Name] = append(held, w.queues[ref.Name]...)
		w.mu.Unlock()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.queues[ref.Name]
	seen := slices.Clone(all[:min(limit, len(all))])
	for i := range seen {
		if m := &seen[i]; len(m.Body) > message.MaxPeekedBody {
			m.LeftOut, m.Body = &message.LeftOutBody{Size: m.BodySize(), SHA256: m.BodySum()}, nil
		}
	}
	return dedup.Peek{Queue: ref, At: w.clock.Now(), Messages: seen, Ready: int64(len(all))}, nil
}

func (w *ward) Ready(_ context.Context, ref dedup.QueueRef) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int64(len(w.queues[ref.Name])), nil
}

func (w *ward) DeclareParking(_ context.Context, dead dedup.QueueRef) (dedup.Queue, error) {
	parking, err := dedup.ParkingQueue(dead)
	if err != nil {
		return dedup.Queue{}, err
	}
	w.mu.Lock()
	if _, ok := w.facts[parking.Name]; !ok {
		w.facts[parking.Name] = dedup.Queue{QueueRef: parking, Type: "classic", State: "running", Durable: true}
	}
	w.mu.Unlock()
	return w.described(parking)
}

func (w *ward) Source(context.Context, dedup.QueueRef, requeue.Taking) (requeue.Source, error) {
	return nil, errors.New("the run of a ward needs none")
}

func (w *ward) Sink(context.Context, string, int) (requeue.Sink, error) {
	return nil, errors.New("the run of a ward needs none")
}

// Find is the store.
func (w *ward) Find(_ context.Context, ids []string) ([]*dedup.Sighting, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: "Store shop does not answer"}
	}
	found := make([]*dedup.Sighting, len(ids))
	for i, id := range ids {
		if state, ok := w.markers[id]; ok {
			attempts := w.attempts
			found[i] = &dedup.Sighting{Marker: dedup.Marker{ID: id, Key: "msg:" + id, State: state, Attempts: &attempts}, ExpiresMillis: dedup.NoExpiry}
			if attempts > 0 {
				found[i].Retry = &dedup.RetryCounter{Key: "retry:" + id, Value: strconv.FormatInt(attempts, 10), ExpiresMillis: dedup.NoExpiry}
			}
		}
	}
	return found, nil
}

// run moves messages four at a time, as the engine does in order and outcome.
func (w *ward) run(ctx context.Context, _ requeue.Ends, cfg requeue.Config, decide requeue.Decider, report func(context.Context, []requeue.Settled) error) (requeue.Result, error) {
	var r requeue.Result
	var kept []message.Message
	defer func() {
		w.mu.Lock()
		w.queues[cfg.Queue.Name] = append(kept, w.queues[cfg.Queue.Name]...)
		w.mu.Unlock()
	}()
	for taken := int64(0); taken < cfg.Limit; {
		batch := w.take(cfg.Queue.Name, int(min(4, cfg.Limit-taken)))
		if len(batch) == 0 {
			r.Stop = requeue.StopEmpty
			return r, nil
		}
		taken += int64(len(batch))
		letters := make([]dedup.DeadLetter, len(batch))
		for i, m := range batch {
			letters[i] = dedup.KeyedDeadLetter(cfg.RefKey, cfg.Queue, m)
		}
		decisions, err := decide.Decide(ctx, letters)
		if err != nil {
			kept = append(kept, batch...)
			r.Stop, r.Text = requeue.StopDecide, "it could not be decided"
			return r, err
		}
		settled := make([]requeue.Settled, len(batch))
		for i, d := range decisions {
			settled[i] = requeue.Settled{Seq: taken, Ref: letters[i].Ref, MessageID: batch[i].MessageID, Decision: d, Outcome: requeue.Left, At: w.clock.Now()}
			switch {
			case d.Target == "":
				kept = append(kept, batch[i])
				r.Left++
			case cfg.MaxRequeues > 0 && !d.Foreign && message.Requeues(batch[i].Headers) >= int64(cfg.MaxRequeues):
				kept = append(kept, batch[i])
				settled[i].Outcome = requeue.Guarded
				r.Guarded++
			default:
				settled[i].Outcome = requeue.Moved
				r.Moved++
				w.put(d.Target, batch[i], cfg.Run)
			}
			settled[i].Counts = r.Counts
		}
		if err := report(ctx, settled); err != nil {
			r.Stop = requeue.StopReport
			return r, err
		}
		if w.each != nil {
			w.each(ctx)
		}
		if ctx.Err() != nil {
			r.Stop = requeue.StopCancelled
			return r, nil
		}
	}
	r.Stop = requeue.StopLimit
	return r, nil
}

func (w *ward) take(queue string, n int) []message.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = min(n, len(w.queues[queue]))
	batch := w.queues[queue][:n:n]
	w.queues[queue] = w.queues[queue][n:]
	return batch
}

func (w *ward) put(queue string, m message.Message, run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	headers := map[string]any{message.HeaderRequeueRun: run}
	for name, v := range m.Headers {
		headers[name] = v
	}
	m.Headers = headers
	w.queues[queue] = append(w.queues[queue], m)
}

func (w *ward) look(t *testing.T) deadletter.Scan {
	t.Helper()
	return w.lookAt(t, deadletter.MaxScan)
}

// lookAt looks at some messages of the dead-letter queue.
func (w *ward) lookAt(t *testing.T, limit int) deadletter.Scan {
	t.Helper()
	scan, err := w.Scan(t.Context(), operator, deadletter.ScanRequest{Pipeline: "orders", Queue: deadQueue.Name, Limit: limit})
	admintest.Must(t, err)
	return scan
}

func (w *ward) planMove(t *testing.T, who admin.Caller, req move.Request) (move.Plan, error) {
	t.Helper()
	req.Pipeline, req.Queue = "orders", deadQueue.Name
	if req.Do == "" {
		req.Do = admin.Requeue
	}
	return w.PlanMove(t.Context(), who, req)
}

func (w *ward) begin(t *testing.T, req move.Request) string {
	t.Helper()
	p, err := w.planMove(t, ada, req)
	admintest.Must(t, err)
	id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
	admintest.Must(t, err)
	return id
}

func (w *ward) until(t *testing.T, id string, wanted func(jobs.Job) bool) jobs.Job {
	t.Helper()
	limit := time.After(90 * time.Second)
	for {
		job, err := w.Job(t.Context(), operator, id)
		admintest.Must(t, err)
		if wanted(job) {
			return job
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-limit:
			t.Fatalf("the job never came so far: %s %q %+v", job.State, job.Why, job.Counts)
		}
	}
}

func in(states ...jobs.JobState) func(jobs.Job) bool {
	return func(j jobs.Job) bool { return slices.Contains(states, j.State) }
}

func numbered(kind string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%d", kind, i)
	}
	return list
}

// grepFolder returns the first of the words that a file of a folder holds; empty when none does.
func grepFolder(t *testing.T, dir string, words ...string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	admintest.Must(t, err)
	read := 0
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		admintest.Must(t, err)
		read += len(text)
		for _, word := range words {
			if bytes.Contains(text, []byte(word)) {
				return word
			}
		}
	}
	if read == 0 {
		t.Fatal("there is nothing to search")
	}
	return ""
}

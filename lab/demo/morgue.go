package demo

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// A Morgue holds dead-letter queues in memory, for pages: it looks at them, plans, and moves as time goes by, as the real service
// does with a broker. It is safe for concurrent use.
type Morgue struct {
	// Changed is told "job:ID" when a job moves on; nil tells nobody. Record keeps an entry in the audit; nil keeps none.
	Changed func(topic string)
	Record  func(context.Context, admin.Entry) error
	// Watch is how long the first messages of a job are watched. BadCanary makes them fail.
	Watch     time.Duration
	BadCanary bool
	// DeadAgain is how many messages of a job come back to their dead-letter queue.
	DeadAgain int

	mu     sync.Mutex
	now    func() time.Time
	queues map[string][]deadletter.Letter // by queue
	unmade map[string]spec                // by queue whose messages nobody has asked for yet
	opened time.Time
	owner  map[string]string // pipeline, by dead-letter queue
	scans  map[string]deadletter.Scan
	plans  map[string]plannedMove
	jobs   []*movingJob
	tokens map[string]string
}

type plannedMove struct {
	plan    move.Plan
	letters []deadletter.Letter
	edited  *move.Edit
	job     string
}

type movingJob struct {
	jobs.Job
	rest    []deadletter.Letter
	items   []jobs.JobItem
	last    time.Time
	watched time.Time
	credit  float64
	// gone are the letters that it has moved.
	gone []deadletter.Letter
}

// quorum is the dead-letter queue of the demo that must not be looked at.
const quorum = "payments.dlq"

// NewMorgue returns the dead-letter queues of the mixed scene.
func NewMorgue(clock func() time.Time) *Morgue {
	m := &Morgue{Watch: 1500 * time.Millisecond, now: clock, opened: clock(), queues: map[string][]deadletter.Letter{}, unmade: map[string]spec{}, owner: map[string]string{}, scans: map[string]deadletter.Scan{}, plans: map[string]plannedMove{}, tokens: map[string]string{}}
	for _, sp := range mixedSpecs() {
		queue := sp.queues[0] + ".dlq"
		m.owner[queue], m.unmade[queue] = sp.name, sp
	}
	return m
}

// letters returns the messages of a queue. They are made when they are first asked for: there are thousands, and most tests ask for none.
func (m *Morgue) letters(queue string) []deadletter.Letter {
	if sp, ok := m.unmade[queue]; ok {
		delete(m.unmade, queue)
		for i := range int(sp.dead) {
			l := deadLetter(dedup.QueueRef{Vhost: "/", Name: queue}, sp.queues[0], i, m.opened)
			if sp.down != "" {
				l.Marker, l.Prediction = nil, preflight.Prediction{Class: preflight.ClassUnknown, Reasons: []string{"the store could not be asked"}}
			}
			m.queues[queue] = append(m.queues[queue], l)
		}
	}
	return m.queues[queue]
}

// depth is how many messages a queue holds.
func (m *Morgue) depth(queue string) int {
	if sp, ok := m.unmade[queue]; ok {
		return int(sp.dead)
	}
	return len(m.queues[queue])
}

// Put adds a dead letter to a queue.
func (m *Morgue) Put(queue string, l deadletter.Letter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queues[queue] = append(m.letters(queue), sealed(l))
}

// Depth is how many messages a queue holds.
func (m *Morgue) Depth(queue string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.depth(queue)
}

// Stock puts the depths of the queues into a snapshot.
func (m *Morgue) Stock(snap *dedup.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range snap.Pipelines {
		p := &snap.Pipelines[i]
		if len(p.DeadLetterQueues) != 1 || m.owner[p.DeadLetterQueues[0].Name] != p.Pipeline.Name {
			continue
		}
		q := &p.DeadLetterQueues[0]
		if q.Name == quorum {
			q.Type = "quorum"
		}
		depth := float64(m.depth(q.Name))
		q.Depth.Value, q.Depth.Low, q.Depth.High = depth, depth, depth
		p.DeadLetters = q.Depth
	}
}

func missing(text string) error { return &dedup.Error{Kind: dedup.NotFound, Public: text} }
func refuse(kind dedup.Kind, text string) error {
	return &dedup.Error{Kind: kind, Public: text}
}

// allow refuses who lacks a role.
func allow(who admin.Caller, role auth.Role) error {
	if !who.Can(role) {
		return refuse(dedup.Forbidden, "This needs the role "+role.String())
	}
	return nil
}

// WhyNot returns why nothing can be done: search-index has no acting account.
func (m *Morgue) WhyNot(pipeline string) string {
	if pipeline == "search-index" {
		return "broker main has no act credentials in the configuration"
	}
	return ""
}

// Queue returns a dead-letter queue.
func (m *Morgue) Queue(_ context.Context, who admin.Caller, pipeline, queue string) (deadletter.QueueView, error) {
	if err := allow(who, auth.Operator); err != nil {
		return deadletter.QueueView{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owner[queue] != pipeline {
		return deadletter.QueueView{}, missing("The pipeline " + pipeline + " has no dead-letter queue of this name")
	}
	return m.view(pipeline, queue, "argument x-dead-letter-exchange"), nil
}

// ParkingQueue returns the queue that discarded messages wait in.
func (m *Morgue) ParkingQueue(_ context.Context, who admin.Caller, pipeline, queue string) (deadletter.QueueView, error) {
	if err := allow(who, auth.Operator); err != nil {
		return deadletter.QueueView{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owner[queue] != pipeline {
		return deadletter.QueueView{}, missing("The pipeline " + pipeline + " has no dead-letter queue of this name")
	}
	return m.view(pipeline, parking(queue), "parking queue of "+queue), nil
}

func parking(queue string) string { return "dedup.parking." + queue }

func (m *Morgue) view(pipeline, queue, found string) deadletter.QueueView {
	at := m.now()
	v := deadletter.QueueView{
		Pipeline: pipeline, OperatorLimit: deadletter.DefaultOperatorLimit,
		Queue: dedup.DeadLetterQueue{
			QueueRef: dedup.QueueRef{Vhost: "/", Name: queue}, Type: "classic", Found: found,
			Depth: dedup.Exact(dedup.Measured, dedup.Count, float64(m.depth(queue)), at, "management API"), Consumers: dedup.Exact(dedup.Measured, dedup.Count, 0, at, "management API"),
		},
		Effects: []string{"the messages are taken and put back: they are marked as redelivered afterwards", "while it lasts, about a second, no other consumer sees them", "their order stays as it was"},
	}
	if _, there := m.queues[queue]; !there && strings.HasPrefix(queue, parking("")) {
		v.Absent, v.WhyNoScan, v.WhyNotSelective, v.WhyNoMove = strings.TrimPrefix(queue, parking("")), "the queue does not exist yet", "the queue does not exist yet", "the queue does not exist yet"
		v.Queue.Type, v.Queue.Depth, v.Queue.Consumers = "", dedup.Unknown(dedup.Count, v.WhyNoScan), dedup.Figure{}
	}
	if queue == quorum {
		v.Queue.Type, v.Effects = "quorum", nil
		v.WhyNoScan = "RabbitMQ 3.10.25 counts each return of a quorum queue, and this queue has a delivery limit of 3: a message that is put back for the third time is destroyed"
		v.WhyNotSelective = "What is left would have to be put back, and RabbitMQ 3.10.25 destroys what is put back too often"
	}
	for _, s := range m.scans {
		if s.Queue.Name == queue && (v.Scan == nil || s.At.After(v.Scan.At)) {
			v.Scan = &s
		}
	}
	for _, j := range m.jobs {
		if !j.State.Final() && j.Plan.Source.Name == queue {
			v.Job = j.ID
		}
	}
	return v
}

// Scan looks at the head of a queue.
func (m *Morgue) Scan(ctx context.Context, who admin.Caller, req deadletter.ScanRequest) (deadletter.Scan, error) {
	if err := allow(who, auth.Operator); err != nil {
		return deadletter.Scan{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owner[strings.TrimPrefix(req.Queue, "dedup.parking.")] != req.Pipeline {
		return deadletter.Scan{}, missing("The pipeline " + req.Pipeline + " has no dead-letter queue of this name")
	}
	if why := m.view(req.Pipeline, req.Queue, "").WhyNoScan; why != "" {
		return deadletter.Scan{}, refuse(dedup.Conflict, "The queue cannot be looked at: "+why)
	}
	s := deadletter.Scan{
		ID: rand.Text(), Pipeline: req.Pipeline, Queue: dedup.QueueRef{Vhost: "/", Name: req.Queue}, By: who.Name, At: m.now(), Took: 180 * time.Millisecond,
		Ready: int64(m.depth(req.Queue)), Effects: []string{"the messages were taken and put back; they are marked as redelivered now"}, Classes: preflight.Tally{},
	}
	s.Letters = slices.Clone(m.letters(req.Queue)[:min(req.Limit, m.depth(req.Queue))])
	for i := range s.Letters {
		s.Classes[s.Letters[i].Prediction.Class]++
		s.Letters[i] = masked(s.Letters[i])
	}
	if s.Classes[preflight.ClassUnknown] > 0 {
		s.StoreFailed = "connect to 10.0.4.17:6379: connection refused"
	}
	maps.DeleteFunc(m.scans, func(_ string, old deadletter.Scan) bool { return old.Queue == s.Queue })
	m.scans[s.ID] = s
	return s, m.note(ctx, who, "scan_dead_letters", req.Queue, s.ID, fmt.Sprintf("%d of %d looked at", len(s.Letters), s.Ready))
}

// note keeps an entry in the audit.
func (m *Morgue) note(ctx context.Context, who admin.Caller, action, target, operation, detail string) error {
	e := admin.Entry{Operation: operation, Phase: admin.Intent, Who: who.Name, Role: who.Role.String(), Method: who.Method, From: who.From, Action: action, Target: target}
	if err := m.entry(ctx, e); err != nil {
		return err
	}
	e.Phase, e.Detail = admin.Succeeded, detail
	return m.entry(ctx, e)
}

func (m *Morgue) entry(ctx context.Context, e admin.Entry) error {
	if m.Record == nil {
		return nil
	}
	e.At = m.now().UTC()
	return m.Record(context.WithoutCancel(ctx), e)
}

// Kept returns a scan that is kept.
func (m *Morgue) Kept(_ context.Context, who admin.Caller, id string) (deadletter.Scan, error) {
	if err := allow(who, auth.Operator); err != nil {
		return deadletter.Scan{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.scans[id]
	if !ok {
		return s, missing("What that look found is not kept any more")
	}
	return s, nil
}

// Letter returns a letter of a scan, masked.
func (m *Morgue) Letter(ctx context.Context, who admin.Caller, scan, ref string) (deadletter.Letter, error) {
	s, err := m.Kept(ctx, who, scan)
	if err != nil {
		return deadletter.Letter{}, err
	}
	for _, l := range s.Letters {
		if l.Ref == ref {
			return l, nil
		}
	}
	return deadletter.Letter{}, missing("That look found no such message")
}

// Reveal returns a letter of a scan as it is.
func (m *Morgue) Reveal(ctx context.Context, who admin.Caller, scan, ref string) (deadletter.Letter, error) {
	if err := allow(who, auth.Admin); err != nil {
		return deadletter.Letter{}, err
	}
	l, err := m.Letter(ctx, who, scan, ref)
	if err != nil {
		return l, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, raw := range m.letters(l.Queue.Name) {
		if raw.Ref == ref {
			return raw, m.note(ctx, who, "reveal_dead_letter", l.Queue.Name+"/"+ref[:12], rand.Text(), "")
		}
	}
	return l, missing("The message is not in its queue any more")
}

// Export gives the letters of a scan that match, as they are.
func (m *Morgue) Export(ctx context.Context, who admin.Caller, scan, filter string, send func([]deadletter.Letter) error) error {
	if err := allow(who, auth.Operator); err != nil {
		return err
	}
	s, err := m.Kept(ctx, who, scan)
	if err != nil {
		return err
	}
	f, err := deadletter.ParseFilter(filter, m.now().UTC())
	if err != nil {
		return err
	}
	var list []deadletter.Letter
	for _, l := range s.Letters {
		if f.Matches(l) {
			list = append(list, l)
		}
	}
	if err := m.note(ctx, who, "export_dead_letters", s.Queue.Name, rand.Text(), fmt.Sprintf("%d messages", len(list))); err != nil {
		return err
	}
	return send(list)
}

// IDsOfKey returns the ids of messages whose body holds a key.
func (m *Morgue) IDsOfKey(_ context.Context, who admin.Caller, key string, most int) ([]string, error) {
	if err := allow(who, auth.Operator); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []string
	for _, s := range m.scans {
		for _, l := range s.Letters {
			if len(ids) < most && l.ID != "" && bytes.Contains(l.Body, []byte(key)) && !slices.Contains(ids, l.ID) {
				ids = append(ids, l.ID)
			}
		}
	}
	return ids, nil
}

// Seen returns the scans that found a message with an id, with that message alone.
func (m *Morgue) Seen(_ context.Context, who admin.Caller, id string) ([]deadletter.Scan, error) {
	if err := allow(who, auth.Operator); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []deadletter.Scan
	for _, s := range m.scans {
		s.Letters = slices.DeleteFunc(slices.Clone(s.Letters), func(l deadletter.Letter) bool { return l.ID != id })
		if len(s.Letters) > 0 {
			found = append(found, s)
		}
	}
	return found, nil
}

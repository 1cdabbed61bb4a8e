package jobs_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// A startRefusal is one way in which a start is refused: what comes between a plan and its start, and what is said then.
type startRefusal struct {
	says string
	// who plans and starts; ada when empty.
	who admin.Caller
	req move.Request
	// before prepares the ward for the first plan, then brings the state in which its start is refused. What serves from then on is
	// returned by change, where it is another configuration.
	before, then func(*testing.T, *ward)
	change       func(*jobs.DeadLettersDeps)
	start        jobs.StartRequest
	// exempt says why a plan that is made in that state need not say the same; warns is what it says instead.
	exempt, warns string
}

// undeclarable is a broker on which parking queues cannot be declared.
type undeclarable struct{ deadletter.Mover }

const notDeclared = "inequivalent arg 'x-max-priority' for queue"

func (undeclarable) DeclareParking(context.Context, dedup.QueueRef) (dedup.Queue, error) {
	return dedup.Queue{}, &dedup.Error{Kind: dedup.Conflict, Public: notDeclared}
}

func cannotDeclare(d *jobs.DeadLettersDeps) { d.Brokers[0].Mover = undeclarable{d.Brokers[0].Mover} }

// parkOne makes the parking queue, with a message in it.
func parkOne(t *testing.T, w *ward) {
	w.die("parked")
	w.until(t, w.begin(t, move.Request{Do: admin.Discard, Whole: true}), in(jobs.JobDone))
}

const parkingName = "dedup.parking.orders.dead"

func targetFact(change func(*dedup.Queue)) func(*testing.T, *ward) {
	return func(_ *testing.T, w *ward) { w.fact("orders", change) }
}

func deadFact(change func(*dedup.Queue)) func(*testing.T, *ward) {
	return func(_ *testing.T, w *ward) { w.fact(deadQueue.Name, change) }
}

// seeing changes what the collector knows.
func seeing(change func(*dedup.Snapshot)) func(*testing.T, *ward) {
	return func(_ *testing.T, w *ward) {
		snap := *w.round.Snapshot()
		change(&snap)
		w.round.Set(&snap)
	}
}

func startRefusals() map[string]startRefusal {
	two := int64(2)
	argument := func(key string, value any) func(*dedup.Queue) {
		return func(q *dedup.Queue) { q.Arguments = map[string]any{key: value} }
	}
	return map[string]startRefusal{
		"the role does not suffice to start anything": {says: "needs the role operator", who: viewer, start: jobs.StartRequest{Reason: why}},
		"the role does not suffice to start this":     {says: "needs the role admin", who: operator, req: move.Request{Do: admin.Discard}},
		"an operator would move more than an operator may": {
			says: "more than the 2 that an operator may requeue at once", who: operator, change: func(d *jobs.DeadLettersDeps) { d.Config.OperatorLimit = 2 },
		},
		"the dashboard is read-only": {says: "read-only", change: func(d *jobs.DeadLettersDeps) { d.ReadOnly = true }},
		"nobody may act on the broker": {
			says: "has no act credentials", change: func(d *jobs.DeadLettersDeps) {
				d.Brokers = []deadletter.Broker{{Name: "main", Watch: d.Brokers[0].Watch}}
			},
		},
		"the pipeline is gone": {says: "There is no pipeline orders", change: func(d *jobs.DeadLettersDeps) { d.Pipelines = nil }},
		"the target that was chosen is no queue of the pipeline": {
			says: "is no queue of pipeline orders", req: move.Request{Target: "orders"},
			change: func(d *jobs.DeadLettersDeps) { d.Pipelines[0].Queues = []string{"others"} },
		},
		"the queue takes no dead letters any more": {
			says: "has no dead-letter queue orders.dead",
			then: seeing(func(s *dedup.Snapshot) {
				p := s.Pipelines[0]
				p.DeadLetterQueues = nil
				s.Pipelines = []dedup.PipelineStatus{p}
			}),
		},
		"nothing was observed yet":   {says: "No round of observation has ended yet", then: func(_ *testing.T, w *ward) { w.round.Set(nil) }},
		"the queue cannot be read":   {says: "Queue orders.dead cannot be read", then: func(_ *testing.T, w *ward) { w.gone(deadQueue.Name) }},
		"no message can be left out": {says: "it is bounded by max-length-bytes", then: deadFact(argument("x-max-length-bytes", int64(1)))},
		"the queue is empty":         {says: "no message of the queue is ready", then: func(_ *testing.T, w *ward) { w.take(deadQueue.Name, 100) }},
		"the whole of an empty queue": {
			says: "no message of the queue is ready", req: move.Request{Whole: true}, then: func(_ *testing.T, w *ward) { w.take(deadQueue.Name, 100) },
		},
		"all that is left is left out by choice": {
			says: "is left out by choice", req: move.Request{Filter: "reason:rejected"},
			before: func(_ *testing.T, w *ward) {
				for _, id := range w.holds(deadQueue.Name) {
					w.markers[id] = dedup.Processing
				}
				w.die("unseen")
			},
			then: func(_ *testing.T, w *ward) { w.take(deadQueue.Name, 1) },
		},
		"another job has the queue": {
			says: "is moving messages of this queue",
			then: func(t *testing.T, w *ward) {
				first, going := make(chan struct{}), make(chan struct{})
				hold := sync.OnceFunc(func() { close(first); <-going })
				w.each = func(context.Context) { hold() }
				t.Cleanup(func() { close(going) })
				w.begin(t, move.Request{Whole: true})
				<-first
				w.die("next")
			},
		},
		"the queue destroys what comes back": {
			says: "Nothing can be moved out of this queue", req: move.Request{Whole: true, Choices: allKept()}, then: deadFact(func(q *dedup.Queue) { q.Type = "stream" }),
		},
		"the broker is in alarm": {
			says: "is short of memory or disk",
			then: seeing(func(s *dedup.Snapshot) {
				b := s.Brokers[0]
				b.State.Nodes = []dedup.Node{{Name: "rabbit@one", MemoryAlarm: true}}
				s.Brokers = []dedup.BrokerStatus{b}
			}),
		},
		"a consumer of the queue keeps its messages": {
			says: "it has a single active consumer",
			then: deadFact(func(q *dedup.Queue) {
				q.Consumers, q.Arguments = &two, map[string]any{"x-single-active-consumer": true}
			}),
		},
		"consumers of the queue keep the whole of it": {
			says: "keeps the whole of it from being moved", req: move.Request{Whole: true, Choices: allKept()}, then: deadFact(func(q *dedup.Queue) { q.Consumers = &two }),
		},
		"markers cannot be cleared": {
			says: "Markers cannot be cleared", req: move.Request{Choices: map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.ClearFirst}},
			change: func(d *jobs.DeadLettersDeps) { d.Clear = nil },
		},
		"the target is not there":           {says: "The target queue orders does not exist", then: func(_ *testing.T, w *ward) { w.gone("orders") }},
		"the target is a stream":            {says: "The target orders is a stream", then: targetFact(func(q *dedup.Queue) { q.Type = "stream" })},
		"the target copies what it refuses": {says: "overflow reject-publish-dlx", then: targetFact(argument("x-overflow", "reject-publish-dlx"))},
		"the target has no room":            {says: "pushes out the oldest", then: targetFact(argument("x-max-length", int64(1)))},
		"the parking queue could lose messages": {
			says: "The parking queue could lose what is put there: it has message-ttl", req: move.Request{Do: admin.Discard}, before: parkOne,
			then: func(_ *testing.T, w *ward) { w.fact(parkingName, argument("x-message-ttl", int64(1))) },
		},
		"the parking queue cannot be used as it is": {
			says: "The parking queue cannot be used: " + notDeclared, req: move.Request{Do: admin.Discard}, before: parkOne, change: cannotDeclare,
		},
		"the parking queue cannot be declared": {
			says: "The parking queue cannot be used: " + notDeclared, req: move.Request{Do: admin.Discard}, change: cannotDeclare,
			exempt: "a plan changes nothing, so that it declares no queue", warns: "There is no parking queue yet",
		},

		"there is no reason":        {says: "Give a reason", start: jobs.StartRequest{Reason: "-"}, exempt: "it is given with the start"},
		"the token is too long":     {says: "An idempotency token has at most", start: jobs.StartRequest{Token: strings.Repeat("t", 200)}, exempt: "it is given with the start"},
		"the token is of another":   {says: "has started another plan", start: jobs.StartRequest{Token: "once"}, before: spendToken, exempt: "it is given with the start"},
		"the name was not typed":    {says: "Type orders.dead to confirm", req: move.Request{Do: admin.Discard}, start: jobs.StartRequest{Confirm: "no"}, exempt: "it is given with the start: the plan says what to type"},
		"there is no such plan":     {says: "There is no such plan", start: jobs.StartRequest{PlanID: "none"}, exempt: "there is nothing to review"},
		"the plan is too old":       {says: "The plan is older than", then: func(_ *testing.T, w *ward) { w.clock.Advance(admin.PlanLife + time.Second) }, exempt: "one that is made then is new"},
		"its edit is not kept":      {says: "The edited message is not kept any more", req: move.Request{Edit: &move.Edit{Body: []byte("{}")}}, change: func(*jobs.DeadLettersDeps) {}, exempt: "one that is made then is kept"},
		"the queue has grown":       {says: "The queue has grown", req: move.Request{Whole: true, Choices: leftOutUnsafe()}, then: func(_ *testing.T, w *ward) { w.die(numbered("more", 200)...) }, exempt: "a plan of so many says what to type"},
		"the dashboard is stopping": {says: "the dashboard is stopping", then: func(t *testing.T, w *ward) { admintest.Must(t, w.Close(context.Background())) }, exempt: "it ends within seconds, and the next one carries the plan out"},
	}
}

func allKept() map[preflight.Class]preflight.Choice {
	all := map[preflight.Class]preflight.Choice{}
	for _, class := range preflight.Classes() {
		all[class] = preflight.KeepAsIs
	}
	return all
}

func leftOutUnsafe() map[preflight.Class]preflight.Choice {
	return map[preflight.Class]preflight.Choice{
		preflight.ClassUnknown: preflight.LeaveOut, preflight.ClassBlocks: preflight.LeaveOut, preflight.ClassSwallowed: preflight.LeaveOut, preflight.ClassPerhapsSwallowed: preflight.LeaveOut,
	}
}

func spendToken(t *testing.T, w *ward) {
	p, err := w.planMove(t, ada, move.Request{Whole: true})
	admintest.Must(t, err)
	id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm, Token: "once"})
	admintest.Must(t, err)
	w.until(t, id, in(jobs.JobDone))
	w.die(numbered("again", 5)...)
}

// gone takes a queue away.
func (w *ward) gone(queue string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.facts, queue)
}

// TestNoPlanIsReviewedThatCannotBeStarted has every refusal of a start. A plan that is made while what refuses it is there already says the
// same; what cannot be there before is exempt, with the reason.
func TestNoPlanIsReviewedThatCannotBeStarted(t *testing.T) {
	for name, c := range startRefusals() {
		t.Run(name, func(t *testing.T) {
			w := newWard(t, func(d *jobs.DeadLettersDeps) { d.Clear = &clearer{} })
			w.die(numbered("dead", 5)...)
			if c.before != nil {
				c.before(t, w)
			}
			if len(w.holds(deadQueue.Name)) == 0 {
				w.die(numbered("dead", 5)...)
			}
			who := c.who
			if who.Name == "" {
				who = ada
			}
			c.req.Pipeline, c.req.Queue = "orders", deadQueue.Name
			if c.req.Do == "" {
				c.req.Do = admin.Requeue
			}
			scan := w.lookAt(t, 5)
			if !c.req.Whole {
				c.req.Scan = scan.ID
			}
			if !c.req.Whole && c.req.Filter == "" {
				for _, l := range scan.Letters {
					if c.req.Refs = append(c.req.Refs, l.Ref); c.req.Edit != nil {
						break
					}
				}
			}
			p, err := w.PlanMove(t.Context(), ada, c.req)
			admintest.Must(t, err)
			if refused(p) != "" {
				t.Fatalf("refused before anything was wrong: %s", refused(p))
			}
			if c.then != nil {
				c.then(t, w)
			}
			service := w.deadLetters
			if c.change != nil {
				deps := w.deps
				deps.Brokers, deps.Pipelines = append([]deadletter.Broker{}, deps.Brokers...), append([]dedup.Pipeline{}, deps.Pipelines...)
				c.change(&deps)
				service = newDeadLetters(deps)
				t.Cleanup(func() { admintest.Must(t, service.Close(context.Background())) })
				if again, err := service.Scan(t.Context(), ada, deadletter.ScanRequest{Pipeline: "orders", Queue: deadQueue.Name, Limit: 5}); err == nil && !c.req.Whole {
					c.req.Scan = again.ID
				}
			}
			start := jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm}
			for given, field := range map[string]*string{c.start.PlanID: &start.PlanID, c.start.Reason: &start.Reason, c.start.Confirm: &start.Confirm, c.start.Token: &start.Token} {
				if given != "" {
					*field = given
				}
			}
			if _, err := service.StartJob(t.Context(), who, start); !strings.Contains(dedup.PublicText(err), lowered(c.says)) && !strings.Contains(dedup.PublicText(err), c.says) {
				t.Errorf("the start says: %v", err)
			}
			fresh, err := service.PlanMove(t.Context(), who, c.req)
			switch {
			case c.exempt == "" && err != nil && !strings.Contains(dedup.PublicText(err), c.says):
				t.Errorf("a plan made now says: %v", err)
			case c.exempt == "" && err == nil && !strings.Contains(refused(fresh), c.says):
				t.Errorf("a plan made now is to be reviewed: %+v", fresh.Guards)
			case c.warns != "" && !says(fresh, c.warns):
				t.Errorf("a plan made now does not warn: %+v, %v", fresh.Guards, err)
			}
		})
	}
}

// lowered is a sentence as it goes on after another.
func lowered(s string) string { return strings.ToLower(s[:1]) + s[1:] }

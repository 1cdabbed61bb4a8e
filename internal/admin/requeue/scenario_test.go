package requeue_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// A scenario is a queue full of dead letters, what is to become of them, and what goes wrong meanwhile.
type scenario struct {
	Seed    int
	Letters []letter
	Targets map[string]string // "a", "b", "c": open, consumed, missing, full, bounces
	Window  int
	Single  bool
	Rate    float64
	Limit   int64 // the delivery limit of the dead-letter queue; 0 for none
	Faults  []fault
	// NewName gives a run another name when it goes on after a kill.
	NewName bool
}

// A letter is one dead letter of a scenario.
type letter struct {
	Target string
	Leave  bool
	CC     bool // it asks for a copy in the queue "side"
	Times  int  // how often it was requeued before
	// Returned is how often it was returned to a queue that counts, before; at most 5 of 10.
	Returned int
}

// fullAt is how many messages a target that is full takes.
const fullAt = 3

func scenarios() *rapid.Generator[scenario] {
	return rapid.Custom(func(t *rapid.T) scenario {
		s := scenario{
			Seed:    rapid.IntRange(0, 1<<30).Draw(t, "seed"),
			Window:  rapid.SampledFrom([]int{1, 2, 3, 5, 8, 32}).Draw(t, "window"),
			Single:  rapid.Bool().Draw(t, "single"),
			Rate:    rapid.SampledFrom([]float64{0, 0, 0, 50}).Draw(t, "rate"),
			NewName: rapid.Bool().Draw(t, "new name"),
			Limit:   rapid.SampledFrom([]int64{0, 0, 0, 0, 10}).Draw(t, "delivery limit"),
			Targets: map[string]string{},
		}
		s.Letters = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) letter {
			return letter{
				Target:   rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "target"),
				Leave:    rapid.IntRange(0, 9).Draw(t, "leave") == 0,
				CC:       rapid.IntRange(0, 4).Draw(t, "cc") == 0,
				Times:    rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1, 2, 3}).Draw(t, "times"),
				Returned: rapid.IntRange(0, 5).Draw(t, "returned"),
			}
		}), 1, 40).Draw(t, "letters")
		kinds := []string{"open", "open", "open", "consumed", "consumed", "missing", "full", "bounces"}
		for _, target := range []string{"a", "b", "c"} {
			s.Targets[target] = rapid.SampledFrom(kinds).Draw(t, "kind of "+target)
		}
		s.Faults = rapid.SliceOfN(faultGen(5*len(s.Letters)+10), 0, 4).Draw(t, "faults")
		slices.SortStableFunc(s.Faults, func(a, b fault) int { return a.at - b.at })
		return s
	})
}

func faultGen(last int) *rapid.Generator[fault] {
	return rapid.Custom(func(t *rapid.T) fault {
		return fault{
			at:    rapid.IntRange(1, last).Draw(t, "at"),
			kind:  rapid.SampledFrom([]string{"cut source", "cut sink", "cut both", "half open", "restart", "kill", "alarm", "delete", "steal", "grow"}).Draw(t, "kind"),
			lasts: rapid.SampledFrom([]time.Duration{time.Second, 30 * time.Second, 10 * time.Minute}).Draw(t, "lasts"),
			queue: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "queue"),
			n:     rapid.IntRange(1, 5).Draw(t, "n"),
		}
	})
}

// calm returns the same scenario without what goes wrong: messages arrive, and that is all.
func (s scenario) calm() scenario { return s.with("grow") }

// with returns the same scenario with faults of one kind alone.
func (s scenario) with(kind string) scenario {
	s.Faults = slices.Clone(s.Faults)
	for i := range s.Faults {
		s.Faults[i].kind = kind
	}
	return s
}

func (s scenario) cuts() int { return s.count(fault.cuts) }

func (s scenario) count(which func(fault) bool) int {
	n := 0
	for _, f := range s.Faults {
		if which(f) {
			n++
		}
	}
	return n
}

func (s scenario) has(kind string) bool {
	return s.count(func(f fault) bool { return f.kind == kind }) > 0
}

func (s scenario) hasTarget(kind string) bool {
	for _, k := range s.Targets {
		if k == kind {
			return true
		}
	}
	return false
}

func seedMessage(id, target string) message.Message {
	return message.Message{
		Exchange: "dlx", RoutingKey: "dead", Body: []byte("body of " + id),
		Properties: message.Properties{
			MessageID: id, ContentType: "text/plain", UserID: "shop", Priority: 3, DeliveryMode: 1, CorrelationID: "c-" + id,
			Headers: map[string]any{"target": target, "kept": int64(7), "x-death": []any{map[string]any{"queue": target, "reason": "rejected"}}},
		},
	}
}

func (s scenario) fill(m *model) {
	dead := &modelQueue{name: "dead", limit: s.Limit}
	m.addQueue(dead)
	m.addQueue(&modelQueue{name: "side"})
	for target, kind := range s.Targets {
		q := &modelQueue{name: target}
		switch kind {
		case "missing":
			continue
		case "consumed":
			q.consumes = true
		case "full":
			q.capacity = fullAt
		case "bounces":
			q.bounces = "dead"
		}
		m.addQueue(q)
	}
	for i, l := range s.Letters {
		id := fmt.Sprintf("m%d", i)
		msg := seedMessage(id, l.Target)
		if l.Leave {
			msg.Headers["leave"] = true
		}
		if l.CC {
			msg.Headers["CC"] = []any{"side"}
		}
		if l.Times > 0 {
			msg.Headers[message.HeaderRequeueCount] = int64(l.Times)
		}
		dead.push(id, msg)
		dead.ready[i].returns = min(s.Limit, int64(l.Returned)) // by others, before
	}
}

// decider sends each message where its header says.
type decider struct{}

func (decider) Decide(_ context.Context, letters []dedup.DeadLetter) ([]requeue.Decision, error) {
	var decisions []requeue.Decision
	for _, l := range letters {
		d := requeue.Decision{Target: l.Headers["target"].(string)}
		if l.Headers["leave"] != nil {
			d = requeue.Decision{Why: "left out"}
		}
		decisions = append(decisions, d)
	}
	return decisions, nil
}

// Undecide implements requeue.Decider.
func (decider) Undecide([]dedup.DeadLetter, []requeue.Decision) {}

// An ending is how a scenario ended.
type ending struct {
	scenario
	m       *model
	runs    int
	result  requeue.Result
	err     error
	settled []requeue.Settled // of the last run
}

// play runs a scenario through the engine, with ends that may be broken, until no kill interrupts it.
func (s scenario) play(t *testing.T, breaking func(requeue.Ends) requeue.Ends) ending {
	e := ending{scenario: s}
	synctest.Test(t, func(*testing.T) {
		e.m = newModel(uint64(s.Seed), slices.Clone(s.Faults))
		s.fill(e.m)
		for name := "run"; ; e.runs++ {
			ctx, cancel := context.WithCancel(context.Background())
			e.m.locked(func() { e.m.kill, e.m.killed = cancel, false })
			e.settled = nil
			cfg := requeue.Config{
				Run: name, Queue: dedup.QueueRef{Vhost: "/", Name: "dead"}, Limit: int64(e.m.depth("dead")),
				Window: s.Window, Single: s.Single, Rate: s.Rate, DeliveryLimit: s.Limit,
			}
			var ends requeue.Ends = modelEnds{e.m}
			if breaking != nil {
				ends = breaking(ends)
			}
			e.result, e.err = requeue.Run(ctx, ends, cfg, decider{}, func(_ context.Context, settled []requeue.Settled) error {
				e.settled = append(e.settled, settled...)
				return nil
			})
			cancel()
			killed := false
			e.m.locked(func() { killed = e.m.killed })
			if !killed {
				break
			}
			if s.NewName {
				name = fmt.Sprintf("run %d", e.runs+2)
			}
		}
		e.runs++
		time.Sleep(time.Hour) // whatever was set to happen has happened
	})
	return e
}

package move

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
)

const (
	// longBacklog is how much work at the present rate makes a backlog long.
	longBacklog = 10 // minutes
	// maxTargets is the most target queues that are looked at.
	maxTargets = 20
)

func warn(format string, args ...any) Guard { return Guard{Text: fmt.Sprintf(format, args...)} }
func block(format string, args ...any) Guard {
	return Guard{Text: fmt.Sprintf(format, args...), Blocking: true}
}

// scanGuards are what speaks against a plan by what was looked at.
func (pl *planning) scanGuards() []Guard {
	guards, p := pl.plan.Guards, pl.plan
	if pl.scan == nil {
		return append(guards, warn("Nothing was looked at: what will happen to each message is not known"))
	}
	if moved := p.Ready - pl.scan.Raw.Ready; pl.scan.Raw.Ready > 0 && float64(max(moved, -moved)) > 0.05*float64(pl.scan.Raw.Ready) {
		guards = append(guards, warn("The queue held %d messages when it was looked at, and holds %d now", pl.scan.Raw.Ready, p.Ready))
	}
	if pl.scan.Raw.StoreFailed != "" && p.Request.Do == admin.Requeue {
		guards = append(guards, warn("No marker could be looked up: %s", pl.scan.Raw.StoreFailed))
	}
	if pl.unseen > 0 {
		guards = append(guards, warn("%s selected and not seen by this look; nothing is done with what was not seen", Counted(pl.unseen, "message was", "messages were")))
	}
	if p.Worn > 0 {
		guards = append(guards, warn("%s requeued %d times or more, and will be left where it is", Counted(p.Worn, "message was", "messages were"), deadletter.GuardedAt))
	}
	if p.Nowhere > 0 {
		guards = append(guards, warn("Of %s it is not known which queue to send it to; it will be left where it is", admin.Plural(p.Nowhere, "message")))
	}
	if n := pl.envelopes(); n > 0 {
		guards = append(guards, warn("Of those looked at, %s of EasyNetQ: what is sent is the envelope with the exception, which consumers do not understand, "+
			"and not the message in it", Counted(n, "message that goes is an error envelope", "messages that go are error envelopes")))
	}
	return guards
}

// envelopes counts the letters that a requeue sends as envelopes; those that are left out stay as they are.
func (pl *planning) envelopes() int {
	n := 0
	for i := range pl.selected {
		l := &pl.selected[i]
		if pl.plan.Request.Do == admin.Requeue && deadletter.IsErrorEnvelope(l.Message) && pl.planned(l).Choice != preflight.LeaveOut {
			n++
		}
	}
	return n
}

// Counted writes a count with one of two forms.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// LiveGuards are what speaks against a plan as the broker is now.
func (m *Planner) LiveGuards(ctx context.Context, l deadletter.Queue, source dedup.Queue, p Plan) []Guard {
	var guards []Guard
	if job := m.deps.Queues.Holder(ctx, l); job != "" {
		g := block("Job %s is moving messages of this queue; wait for its end, or cancel it", job)
		g.Job = job
		guards = append(guards, g)
	}
	if whole := l.WholeRisk(source); !whole.Harmless {
		guards = append(guards, block("Nothing can be moved out of this queue: %s", whole.Why))
	}
	for _, n := range l.Nodes {
		if n.MemoryAlarm || n.DiskAlarm {
			guards = append(guards, block("The broker is short of memory or disk (node %s) and takes no message; wait until its alarm ends", admin.Printable(n.Name, 64)))
		}
	}
	guards = append(guards, consumerGuards(source, p)...)
	if p.clears() && m.whyNotClear(l) != "" {
		guards = append(guards, block("Markers cannot be cleared: %s", m.whyNotClear(l)))
	}
	if p.Request.Do != admin.Discard { // the parking queue has no bound, or it is refused
		guards = append(guards, m.targetGuards(ctx, l, p)...)
	}
	return guards
}

// consumerGuards are what the consumers of the source itself are to a move.
func consumerGuards(source dedup.Queue, p Plan) []Guard {
	if source.Consumers == nil || *source.Consumers == 0 {
		return nil
	}
	g := warn("%s messages of this queue at the same time", Counted(int(*source.Consumers), "consumer takes", "consumers take"))
	switch {
	case settingOf(source, "single-active-consumer") == true:
		g.Blocking, g.Text = true, g.Text+", and it has a single active consumer, so that nothing is handed to anybody else; stop them first"
	case source.Type == "quorum":
		g.Blocking, g.Text = true, g.Text+", so that which of them are moved would be left to chance; stop them first"
	case !p.Selective:
		g.Blocking, g.Text = true, g.Text+", which keeps the whole of it from being moved; stop them first"
	}
	return []Guard{g}
}

// clears reports whether a plan clears markers.
func (p Plan) clears() bool {
	return p.Request.Do == admin.Requeue && slices.Contains(slices.Collect(maps.Values(p.Choices)), preflight.ClearFirst)
}

func (m *Planner) whyNotClear(l deadletter.Queue) string {
	switch {
	case l.Store == nil:
		return "the pipeline has no store"
	case m.deps.Clear == nil:
		return "this dashboard changes no markers"
	}
	return m.deps.Clear.WhyNot(l.Store.Name)
}

// targetGuards are what speaks against the queues that messages go to.
func (m *Planner) targetGuards(ctx context.Context, l deadletter.Queue, p Plan) []Guard {
	targets := maps.Clone(p.Targets)
	if p.beyond() {
		possible := slices.Collect(maps.Keys(l.Homes))
		if p.Request.Do == admin.RestoreLetters {
			possible = []string{l.Dead.Name}
		}
		for _, q := range possible {
			targets[q] = max(targets[q], int(p.UpTo)) // what was not looked at may go to any of them
		}
	}
	var guards []Guard
	for i, name := range slices.Sorted(maps.Keys(targets)) {
		if i == maxTargets {
			return append(guards, warn("There are more targets; only %d were looked at", maxTargets))
		}
		q, err := l.Live(ctx, dedup.QueueRef{Vhost: l.Ref.Vhost, Name: name})
		switch {
		case dedup.KindOf(err) == dedup.NotFound:
			g := block("The target queue %s does not exist", admin.Printable(name, 255))
			g.Blocking = targets[name] > 0 && len(targets) == 1 || slices.Contains(l.Pipeline.Queues, name)
			guards = append(guards, g)
		case err != nil:
			guards = append(guards, block("%s", dedup.PublicText(err)))
		default:
			if p.Request.Do == admin.Requeue {
				guards = append(guards, waitGuards(q, l)...)
			}
			guards = append(guards, targetGuard(q, min(int64(targets[name]), p.UpTo))...)
		}
	}
	return guards
}

// waitGuards are what keeps messages waiting in one target.
func waitGuards(q dedup.Queue, l deadletter.Queue) []Guard {
	var guards []Guard
	name := admin.Printable(q.Name, 255)
	if q.Consumers != nil && *q.Consumers == 0 {
		guards = append(guards, warn("The target queue %s has no consumer: messages will wait there", name))
	}
	if ready := q.Ready; ready != nil && *ready > 0 {
		if perMinute := l.PerMinute(); perMinute > 0 && float64(*ready) > longBacklog*perMinute {
			guards = append(guards, warn("The target queue %s has a backlog of %d messages, more than %d minutes of work: markers may expire before they are consumed", name, *ready, longBacklog))
		}
	}
	return guards
}

// targetGuard are what speaks against one target that takes n messages.
func targetGuard(q dedup.Queue, n int64) []Guard {
	var guards []Guard
	name := admin.Printable(q.Name, 255)
	if q.Type == "stream" {
		guards = append(guards, block("The target %s is a stream; nothing is requeued there", name))
	}
	overflow, _ := settingOf(q, "overflow").(string)
	if overflow == "reject-publish-dlx" {
		return append(guards, block("The target queue %s has overflow reject-publish-dlx: when it is full it refuses a message and dead-letters a copy of it", name))
	}
	bound, ok := settingOf(q, "max-length").(int64)
	switch {
	case !ok && settingOf(q, "max-length-bytes") != nil:
		guards = append(guards, warn("The target queue %s is bounded by its bytes: what does not fit is refused or pushes out the oldest messages", name))
	case !ok || q.Ready == nil:
	case *q.Ready+n > bound && overflow == "reject-publish":
		room := max(0, bound-*q.Ready)
		g := warn("%s. The target queue %s refuses the rest, which stays", roomless(n, room), name)
		g.Fits = &room
		guards = append(guards, g)
	case *q.Ready+n > bound:
		room := max(0, bound-*q.Ready)
		g := block("%s. The target queue %s holds %d of at most %d messages: each one more pushes out the oldest", roomless(n, room), name, *q.Ready, bound)
		g.Fits = &room
		guards = append(guards, g)
	}
	return guards
}

// settingOf returns what arguments and policy say of a key; of two numbers the lesser holds.
func settingOf(q dedup.Queue, key string) any {
	argument, policy := q.Arguments["x-"+key], q.Policy[key]
	a, isArgument := argument.(int64)
	p, isPolicy := policy.(int64)
	switch {
	case isArgument && isPolicy:
		return min(a, p)
	case policy != nil:
		return policy
	}
	return argument
}

// blocking returns the guards that refuse a plan.
func blocking(guards []Guard) string {
	for _, g := range guards {
		if g.Blocking {
			return g.Text
		}
	}
	return ""
}

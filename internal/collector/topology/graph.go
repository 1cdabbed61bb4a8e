package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// A Target is a queue that receives dead letters and how that was found.
type Target struct {
	dedup.QueueRef
	Found string
	// Onward: it only gets what was in another dead-letter queue before, so that its arrivals are none of the pipeline's.
	Onward bool
}

// A Discovery is where the dead letters of some queues go.
type Discovery struct {
	Targets  []Target
	Findings []dedup.Finding
	// Routes are the ways of the dead letters in the order in which they were followed, LeftOut how many more there are.
	Routes  []dedup.DeadLetterRoute
	LeftOut int
	// Complete is true when every dead letter of every queue is known to end in one of the targets, once: no loop back, no
	// guess at a routing key, nothing dropped, no copies, and nothing that leads on from there.
	Complete bool
	// Passed are the queues that were followed: the sources, and those that their dead letters reach.
	Passed []dedup.QueueRef
}

// Discover follows the dead letters of the source queues by the queues' arguments and policies and the broker's exchanges,
// through queues that pass them on. pinned are the dead-letter queues that the configuration lists.
func Discover(ix *Index, sources, pinned []dedup.QueueRef) Discovery {
	g := follow(ix, sources)
	d := Discovery{Complete: true, Passed: g.order}
	found := make(map[dedup.QueueRef]*Target)
	for _, at := range g.order {
		q, r := ix.queues[at], g.routings[at]
		d.Findings = append(d.Findings, g.findings(q, r, pinned)...)
		rows := g.rows(q, r, pinned)
		for _, row := range rows {
			if !g.isTarget(row, r) {
				continue
			}
			direct := g.role(at) != dedup.RouteDeadLetter
			if found[row.Target] == nil {
				found[row.Target] = &Target{QueueRef: row.Target, Found: fmt.Sprintf("%s of %s", row.Origin, text.Name(at.Name)), Onward: true}
			}
			found[row.Target].Onward = found[row.Target].Onward && !direct
		}
		room := dedup.MaxRoutes - len(d.Routes)
		d.LeftOut += max(0, len(rows)-room)
		d.Routes = append(d.Routes, rows[:min(room, len(rows))]...)
	}
	for _, s := range sources {
		d.Complete = d.Complete && g.known(s)
	}
	for _, t := range found {
		d.Targets = append(d.Targets, *t)
	}
	slices.SortFunc(d.Targets, func(a, b Target) int { return cmp.Compare(a.Name, b.Name) })
	d.Findings = slices.Concat(d.Findings, g.cutCycles(), g.traps())
	fed := g.feedRows()
	room := dedup.MaxRoutes - len(d.Routes)
	d.LeftOut += max(0, len(fed)-room)
	d.Routes = append(d.Routes, fed[:min(room, len(fed))]...)
	return d
}

// A graph is the queues that dead letters of some source queues reach, and where each sends its own.
type graph struct {
	ix       *Index
	sources  []dedup.QueueRef
	order    []dedup.QueueRef
	routings map[dedup.QueueRef]routing
	// reached are the queues that dead letters of a queue can come to, over others too.
	reached map[dedup.QueueRef]map[dedup.QueueRef]bool
}

func follow(ix *Index, sources []dedup.QueueRef) *graph {
	g := &graph{ix: ix, sources: sources, routings: make(map[dedup.QueueRef]routing), reached: make(map[dedup.QueueRef]map[dedup.QueueRef]bool)}
	next := slices.Clone(sources)
	for len(next) > 0 && len(g.order) <= dedup.MaxRoutes {
		at := next[0]
		next = next[1:]
		q := ix.queues[at]
		if _, seen := g.routings[at]; seen || q == nil {
			continue
		}
		r := ix.routeOf(q)
		g.routings[at] = r
		g.order = append(g.order, at)
		for _, w := range r.ways {
			next = append(next, w.target)
		}
	}
	for _, at := range g.order {
		g.reached[at] = g.reach(at, func(dedup.QueueRef) bool { return true })
	}
	return g
}

// reach returns the queues that dead letters of one come to, over queues that meet a condition.
func (g *graph) reach(from dedup.QueueRef, over func(dedup.QueueRef) bool) map[dedup.QueueRef]bool {
	all := make(map[dedup.QueueRef]bool)
	next := []dedup.QueueRef{from}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, w := range g.routings[at].ways {
			if !all[w.target] && over(w.target) {
				all[w.target] = true
				next = append(next, w.target)
			}
		}
	}
	return all
}

func (g *graph) isSource(ref dedup.QueueRef) bool { return slices.Contains(g.sources, ref) }

// leadsBack returns a source queue that dead letters of a queue come to, and false when there is none.
func (g *graph) leadsBack(ref dedup.QueueRef) (dedup.QueueRef, bool) {
	for _, s := range g.sources {
		if g.reached[ref][s] {
			return s, true
		}
	}
	return dedup.QueueRef{}, false
}

// role is what a queue is to the pipeline. A queue in which messages wait between two attempts has a time to live and leads back
// to a source, or to itself. Without a time to live messages stay: dead-lettering took their own expiration from them.
func (g *graph) role(ref dedup.QueueRef) dedup.RouteRole {
	q := g.ix.queues[ref]
	if q == nil {
		return dedup.RouteDeadLetter
	}
	_, back := g.leadsBack(ref)
	_, expires := lowestSetting(q, "message-ttl")
	switch {
	case g.isSource(ref):
		return dedup.RouteSource
	case q.Type == "stream":
		return dedup.RouteStream
	case expires && (back || g.reached[ref][ref]):
		return dedup.RouteDelay
	}
	return dedup.RouteDeadLetter
}

// known reports whether all dead letters of a source are sure to end in one dead-letter queue that sends none on.
func (g *graph) known(source dedup.QueueRef) bool {
	r := g.routings[source]
	if len(r.ways) != 1 || r.ways[0].fit != always {
		return false
	}
	target := r.ways[0].target
	return g.role(target) == dedup.RouteDeadLetter && !g.routings[target].set
}

// isTarget reports whether a way leads to a dead-letter queue of the pipeline. One that may serve others alone, because more
// than one queue is possible, is left to the operator.
func (g *graph) isTarget(row dedup.DeadLetterRoute, r routing) bool {
	if row.Role != dedup.RouteDeadLetter || row.Target.Name == "" {
		return false
	}
	for _, w := range r.ways {
		if w.target == row.Target {
			return !w.guess() || len(r.ways) == 1
		}
	}
	return false
}

// guess reports whether no message is known that surely takes the way.
func (w way) guess() bool { return w.fit == perhaps && len(w.keys) == 0 }

// rows are the ways of one queue for the table.
func (g *graph) rows(q *dedup.Queue, r routing, pinned []dedup.QueueRef) []dedup.DeadLetterRoute {
	row := dedup.DeadLetterRoute{Source: q.QueueRef, Exchange: r.exchange, RoutingKey: r.key, KeyKept: !r.keySet, Origin: r.origin}
	if len(r.ways) == 0 {
		if !r.set && !g.isSource(q.QueueRef) {
			return nil // it sends none on
		}
		row.Role, row.Certain, row.Note = dedup.RouteMissing, true, nowhere(q, r)
		return []dedup.DeadLetterRoute{row}
	}
	var rows []dedup.DeadLetterRoute
	for _, w := range r.ways {
		row.Target, row.Role = w.target, g.role(w.target)
		row.Certain = w.fit == always || slices.Contains(pinned, w.target)
		row.Note = g.note(q, r, w)
		rows = append(rows, row)
	}
	return rows
}

// nowhere says why the dead letters of a queue lead nowhere.
func nowhere(q *dedup.Queue, r routing) string {
	end := "dropped"
	if r.kept {
		end = "held back in the queue"
	}
	switch {
	case q.Type == "stream":
		return "a stream has no dead letters"
	case !r.set && r.keySet:
		return "a routing key without an exchange turns dead-lettering off: dead letters are dropped"
	case !r.set:
		return "no dead-letter exchange is set: dead letters are dropped"
	case r.missing:
		return "the exchange does not exist: dead letters are " + end
	case r.exchange == "" && r.keySet:
		return "there is no queue of that name: dead letters are " + end
	}
	return "no binding matches: dead letters are " + end
}

// note is what to bear in mind of one way.
func (g *graph) note(q *dedup.Queue, r routing, w way) string {
	var parts []string
	switch {
	case w.guess() && r.opaque.name != "":
		parts = append(parts, fmt.Sprintf("exchange %s (%s) decides by each message", text.Name(r.opaque.name), text.Name(g.ix.exchanges[r.opaque].Type)))
	case w.guess():
		parts = append(parts, "depends on the routing key of each message")
	case w.fit != always:
		parts = append(parts, "messages with the key "+text.SomeNames(w.keys))
	}
	target := g.ix.queues[w.target]
	switch role := g.role(w.target); {
	case target == nil:
		parts = append(parts, "the broker does not list the queue")
	case role == dedup.RouteStream && r.kept:
		parts = append(parts, "arrives without its death history")
	case role == dedup.RouteStream:
		parts = append(parts, "RabbitMQ 3.10 delivers no dead letter to a stream")
	case role == dedup.RouteSource && w.target == q.QueueRef:
		parts = append(parts, "comes back at once: a message that is always rejected goes round for ever")
	case role == dedup.RouteSource && g.role(q.QueueRef) == dedup.RouteDelay:
		parts = append(parts, "only what was rejected on its way comes back; the broker drops the rest")
	case role == dedup.RouteDeadLetter:
		if back, ok := g.leadsBack(w.target); ok {
			parts = append(parts, "nothing expires there; what is rejected there goes back to "+text.Name(back.Name))
		}
	}
	return strings.Join(parts, "; ")
}

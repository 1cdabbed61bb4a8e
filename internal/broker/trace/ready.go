package trace

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
)

// The bounds of a trace: begun up to these in the vhost, and ended at twice as much.
const (
	maxRate  = 2000     // messages a second that are published or delivered
	maxBytes = 16 << 20 // bytes a second that come or go
	// stopAt is how many times as much ends it.
	stopAt = 2
)

// A found is what was found of a broker before a trace.
type found struct {
	dedup.TraceReadiness
	vhost broker.Vhost
	// dark are the nodes that are to be switched on.
	dark nodes
	// backlog is how many messages are ready in the queues.
	backlog int64
}

func (f *found) problem(reason dedup.TraceReason, remedy, format string, args ...any) {
	f.Problems = append(f.Problems, dedup.TraceProblem{Reason: reason, Text: fmt.Sprintf(format, args...), Remedy: remedy})
}

// failed notes a request that failed.
func (f *found) failed(err error) {
	reason := dedup.TraceUnreachable
	switch broker.KindOf(err) {
	case broker.NoPermission, broker.TagMissing, broker.WrongPassword:
		reason = dedup.TraceNoPermission
	case broker.NoQueue, broker.NoVhost:
		reason = dedup.TraceNoQueue
	}
	f.problem(reason, "", "%s", publicText(err))
}

// publicText is what may be shown of an error of the broker's packages, whose errors are all fit for it.
func publicText(err error) string {
	if broker.KindOf(err) != "" {
		return dedup.PublicText(err)
	}
	return err.Error()
}

// allowed says why the broker may never be traced as it is configured.
func (t *Tracer) allowed(f *found) bool {
	switch {
	case t.config.Measurements == "off":
		f.problem(dedup.TraceForbidden, "", "the configuration forbids it: measurements: off")
	case t.mover == nil:
		f.problem(dedup.TraceNoAccount, "give the broker a section measure: or act:", "broker %s has no account for it", t.config.Name)
	}
	return f.OK()
}

// asked checks what was asked for.
func asked(f *found, queues []string) bool {
	if len(queues) == 0 {
		f.problem(dedup.TraceBadRequest, "", "no queue was named")
	}
	for _, name := range queues {
		if len(name) > longestName || name == "" {
			f.problem(dedup.TraceBadRequest, "", "the name of queue %s has %d bytes; the firehose can show 1 to %d", broker.Quote(name), len(name), longestName)
		}
	}
	return f.OK()
}

// look finds out whether a trace can begin, and who switches it on. It changes nothing.
func (t *Tracer) look(ctx context.Context, vhost string, queues []string) found {
	var f found
	if !t.allowed(&f) || !asked(&f, queues) {
		return f
	}
	v, ok, err := find(ctx, t.watch, vhost)
	switch {
	case err != nil:
		f.failed(err)
		return f
	case !ok:
		f.problem(dedup.TraceNoQueue, "", "there is no vhost %s, or the account that watches may not see it", broker.Quote(vhost))
		return f
	}
	f.vhost, f.Rate, f.Bytes = v, v.Rate, v.Bytes
	f.tooFast()
	state := t.calm(ctx, &f)
	for _, name := range queues {
		t.queue(ctx, &f, dedup.QueueRef{Vhost: vhost, Name: name})
	}
	t.whoSwitches(ctx, &f, state)
	return f
}

func (f *found) tooFast() {
	const remedy = "trace when there is less traffic"
	switch {
	case f.Rate == nil || f.Bytes == nil:
		f.problem(dedup.TraceRateUnknown, "enable the statistics of the broker: management_agent.disable_metrics_collector = false, rates_mode = basic",
			"the broker does not tell how many messages there are a second")
	case *f.Rate > maxRate:
		f.problem(dedup.TraceTooFast, remedy, "vhost %s publishes and delivers %.0f messages a second, and tracing adds to its load; it is begun up to %d",
			broker.Quote(f.vhost.Name), *f.Rate, maxRate)
	case *f.Bytes > maxBytes:
		f.problem(dedup.TraceTooFast, remedy, "in vhost %s come and go %.0f MB a second, and tracing adds to its load; it is begun up to %d",
			broker.Quote(f.vhost.Name), math.Ceil(*f.Bytes/1e6), maxBytes/1_000_000)
	}
}

// calm looks at the nodes, and returns them.
func (t *Tracer) calm(ctx context.Context, f *found) []dedup.Node {
	all, err := t.watch.Nodes(ctx)
	if err != nil {
		f.failed(err)
	}
	if why := trouble(all); why != "" {
		f.problem(dedup.TraceAlarm, "", "%s", why)
	}
	return all
}

// trouble says which node is in no state to be measured; "" where all are well.
func trouble(all []dedup.Node) string {
	for _, n := range all {
		name := broker.Quote(n.Name)
		switch {
		case !n.Running:
			return "node " + name + " is down"
		case n.MemoryAlarm || n.DiskAlarm:
			return "node " + name + " is in alarm"
		case len(n.Partitions) > 0:
			return "node " + name + " is parted from others"
		}
	}
	return ""
}

func (t *Tracer) queue(ctx context.Context, f *found, ref dedup.QueueRef) {
	queue, err := t.watch.Queue(ctx, ref)
	if err != nil {
		f.failed(err)
		return
	}
	if queue.State == "flow" {
		f.problem(dedup.TraceAlarm, "", "queue %s is in flow: more comes than it can take", broker.Quote(ref.Name))
	}
	if queue.Ready != nil {
		f.backlog += *queue.Ready
	}
}

// whoSwitches finds out whether tracing is on, and if not who can switch it on at every node.
func (t *Tracer) whoSwitches(ctx context.Context, f *found, all []dedup.Node) {
	tags, err := t.nodes[0].Tags(ctx)
	switch kind := broker.KindOf(err); {
	case kind == broker.TagMissing || err == nil && !slices.Contains(tags, "administrator"):
		t.byOperator(f, all)
		return
	case err != nil:
		f.failed(err)
		return
	}
	names := map[string]bool{}
	for _, node := range t.nodes {
		name, err := node.Node(ctx)
		var v broker.Vhost
		if err == nil {
			v, _, err = find(ctx, node, f.vhost.Name)
		}
		if err != nil {
			f.failed(err)
			return
		}
		names[name] = true
		if !v.Tracing {
			f.dark = append(f.dark, node)
		}
	}
	if len(names) < len(t.nodes) || len(names) < len(all) { // each has tracing of its own
		t.byOperator(f, all)
		return
	}
	f.Switch = dedup.TraceByUs
	if len(f.dark) == 0 {
		f.Switch = dedup.TraceIsOn
	}
}

// byOperator asks a person, unless one has done it already.
func (t *Tracer) byOperator(f *found, all []dedup.Node) {
	f.dark = nil
	if f.Switch = dedup.TraceIsOn; f.vhost.Tracing {
		return
	}
	f.Switch = dedup.TraceByOperator
	f.On, f.Off = ctlLines("trace_on", f.vhost.Name, all), ctlLines("trace_off", f.vhost.Name, all)
}

// ctlLines are the commands for every node.
func ctlLines(command, vhost string, all []dedup.Node) []string {
	if len(all) < 2 {
		return []string{broker.CtlLine(command, "-p", vhost)}
	}
	var lines []string
	for _, n := range all {
		lines = append(lines, broker.CtlLine(command, "-n", n.Name, "-p", vhost))
	}
	return lines
}

// tapInto opens the queue of a trace, and says why it cannot be.
func (t *Tracer) tapInto(ctx context.Context, f *found, queues []string, bodies bool) *tap {
	p, err := t.openTap(ctx, f.vhost.Name, queues, bodies)
	if isRefused(err) {
		f.problem(dedup.TraceNoPermission, t.remedy(f.vhost.Name), "the account %s may not read the trace of these queues: %s",
			broker.Quote(t.account.Username), publicText(err))
		return nil
	}
	if err != nil {
		f.failed(err)
		return nil
	}
	return p
}

// remedy says what would let the account read traces. That of act is left as it is: these permissions would replace those that it moves with.
func (t *Tracer) remedy(vhost string) string {
	if t.config.Measure.Act.IsZero() {
		return "give the broker a section measure: with an account of its own"
	}
	return "let it, in place of what it may in this vhost: " +
		broker.CtlLine("set_permissions", "-p", vhost, t.account.Username, `^amq\.gen-`, `^amq\.gen-`, `^(amq\.gen-.*|amq\.rabbitmq\.trace)$`)
}

// advise says how the account could be kept from reading the trace of other queues.
func (t *Tracer) advise(f *found, queues []string) {
	f.Advice = append(f.Advice, fmt.Sprintf("the account %s may read every message of the vhost while it is traced; let it read these queues alone: %s",
		broker.Quote(t.account.Username), broker.CtlLine("set_topic_permissions", "-p", f.vhost.Name, t.account.Username, firehose, "^$", topicPattern(queues))))
}

// refusal is the error that says why there is no trace.
func (f *found) refusal() error {
	texts := make([]string, len(f.Problems))
	for i, p := range f.Problems {
		if texts[i] = p.Text; p.Remedy != "" {
			texts[i] += "; " + p.Remedy
		}
	}
	kind := dedup.Conflict
	if f.Problems[0].Reason == dedup.TraceBadRequest {
		kind = dedup.Invalid
	}
	return &dedup.Error{Kind: kind, Public: "this cannot be traced now: " + strings.Join(texts, ". ")}
}

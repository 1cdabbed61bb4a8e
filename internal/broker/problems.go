package broker

import (
	"fmt"
	"strings"

	"dedup-dashboard/internal/dedup"
)

// The kinds of problems that a sample can have.
const (
	ProblemPermissionMissing = "permission_missing" // queues are hidden: the API answers 200 and a shorter list
	ProblemTagMissing        = "tag_missing"        // nodes and totals cannot be read
	ProblemNodesUnreadable   = "nodes_unreadable"   // nodes could not be read for another reason
	ProblemPartialAnswer     = "partial_answer"     // a node is down: counts are those of the others
	ProblemStatsDisabled     = "stats_disabled"     // no counters and no depths
	ProblemQueueTotalsOnly   = "queue_totals_only"  // depths without counters
	ProblemRatesNone         = "rates_none"         // depths without counters, by rates_mode
	ProblemStatsLate         = "stats_late"         // the broker's collector lags: counters are old
	ProblemTracingLeftOn     = "tracing_left_on"    // a vhost is traced for longer than any trace of ours takes
)

// lateReadings is how many readings in a row must find a backlog before statistics count as late: a single one is
// normal at the moment when channels report.
const lateReadings = 3

// ratesProblems judges how the broker counts.
func ratesProblems(overview *overviewRow) []dedup.Problem {
	if overview.RatesMode != "none" || bool(overview.StatsDisabled) {
		return nil
	}
	return []dedup.Problem{{
		Kind:   ProblemRatesNone,
		Text:   "The broker counts no messages (management.rates_mode is none): rates of publishes, deliveries and acks are unknown.",
		Remedy: "Set management.rates_mode = basic in rabbitmq.conf and restart the nodes.",
	}}
}

// A lag says for how long the broker's collector of statistics has been late.
type lag struct {
	// readings counts those in a row that found a backlog.
	readings int
}

// problems judges the backlog of one more reading.
func (l *lag) problems(overview *overviewRow) []dedup.Problem {
	backlog := overview.Backlog.value
	if backlog == nil || *backlog == 0 {
		l.readings = 0
		return nil
	}
	if l.readings++; l.readings < lateReadings {
		return nil
	}
	return []dedup.Problem{{
		Kind:   ProblemStatsLate,
		Text:   fmt.Sprintf("The broker's statistics lag: %d events wait (statistics_db_event_queue), so its counters are old.", *backlog),
		Remedy: "Fewer channels and queues help, or a larger collect_statistics_interval in rabbitmq.conf.",
	}}
}

// statsProblems says what a broker with disabled statistics still gives.
func statsProblems(info dedup.BrokerInfo, queues []dedup.Queue) []dedup.Problem {
	const remedy = "Remove management_agent.disable_metrics_collector and management.disable_stats from rabbitmq.conf, or let consumers report their counters."
	switch {
	case !info.StatsDisabled:
		return nil
	case info.QueueTotals || hasDepths(queues):
		return []dedup.Problem{{
			Kind: ProblemQueueTotalsOnly, Remedy: remedy,
			Text: "Statistics are disabled on the broker: queue depths are known, but publishes, deliveries, acks and consumers are not.",
		}}
	default:
		return []dedup.Problem{{
			Kind: ProblemStatsDisabled, Remedy: remedy,
			Text: "Statistics are disabled on the broker: queue depths, publishes, deliveries, acks and consumers are unknown.",
		}}
	}
}

func hasDepths(queues []dedup.Queue) bool {
	for i := range queues {
		if queues[i].Messages != nil {
			return true
		}
	}
	return false
}

// nodeProblems judges what /api/nodes said to a user.
func nodeProblems(user string, nodes []dedup.Node, err error) []dedup.Problem {
	if KindOf(err) == TagMissing {
		return []dedup.Problem{{
			Kind:   ProblemTagMissing,
			Text:   "User " + Quote(user) + " lacks the tag monitoring: alarms, nodes and the number of hidden queues are unknown.",
			Remedy: tagLine(user),
		}}
	}
	if err != nil {
		return []dedup.Problem{{
			Kind: ProblemNodesUnreadable, Text: "Alarms and nodes are unknown: " + err.Error() + ".",
			Remedy: "See the log of the broker.",
		}}
	}
	var down []string
	for _, n := range nodes {
		if !n.Running {
			down = append(down, Quote(n.Name))
		}
	}
	if down == nil {
		return nil
	}
	return []dedup.Problem{{
		Kind:   ProblemPartialAnswer,
		Text:   fmt.Sprintf("%d of %d nodes do not run (%s): counters and depths are those of the others.", len(down), len(nodes), listed(down)),
		Remedy: "Start the node, or run rabbitmqctl forget_cluster_node if it is gone for good.",
	}}
}

// listed joins at most five names.
func listed(all []string) string {
	const most = 5
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

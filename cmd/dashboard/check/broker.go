package check

import (
	"context"
	"fmt"
	"io"
	"strings"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/dedup"
)

func readBroker(ctx context.Context, cfg broker.Config) (broker.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	client, err := broker.New(cfg)
	if err != nil {
		return broker.Report{}, err
	}
	return client.Check(ctx)
}

// printBroker reports what a broker tells this account. Its error says what must be fixed before the broker can be watched.
func printBroker(w io.Writer, name string, r broker.Report) error {
	info := r.Sample.Info
	fmt.Fprintf(w, "\nbroker %s: RabbitMQ %s, cluster %s, node %s\n", name, info.Version, info.Cluster, info.Node)
	fmt.Fprintf(w, "  account %s, tags %s\n", r.User, strings.Join(r.Tags, ", "))
	fmt.Fprintf(w, "  statistics: rates mode %s, %s\n", orNone(info.RatesMode), statistics(info))
	total := "unknown"
	if r.Sample.QueuesTotal != nil {
		total = fmt.Sprint(*r.Sample.QueuesTotal)
	}
	fmt.Fprintf(w, "  queues: %d visible of %s\n", len(r.Sample.Queues), total)
	var failed []string
	for _, p := range r.Sample.Problems {
		label := "PROBLEM"
		if passing(p.Kind) {
			label = "NOTE"
		} else {
			failed = append(failed, p.Kind)
		}
		fmt.Fprintf(w, "  %s %s: %s\n    fix: %s\n", label, p.Kind, p.Text, p.Remedy)
	}
	if err := printNodes(w, r.Sample); err != nil {
		failed = append(failed, err.Error())
	}
	return toFix(failed)
}

// passing reports whether a problem of a broker is none of its configuration: one that passes, or queues that are hidden,
// which matters only where a pipeline names one; then it is missing there.
func passing(kind string) bool {
	switch kind {
	case broker.ProblemPermissionMissing, broker.ProblemPartialAnswer, broker.ProblemStatsLate, broker.ProblemNodesUnreadable:
		return true
	}
	return false
}

func statistics(info dedup.BrokerInfo) string {
	switch {
	case info.StatsDisabled && info.QueueTotals:
		return "disabled, depths only"
	case info.StatsDisabled:
		return "disabled"
	default:
		return "enabled"
	}
}

package check

import (
	"fmt"
	"io"
	"strings"

	"dedup-dashboard/internal/broker"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

// printPipeline reports the queues of a pipeline, where their dead letters go, and what its broker does not show. Its error
// says what must be fixed before the pipeline can be watched.
func printPipeline(w io.Writer, p dedup.Pipeline, r broker.Report) error {
	fmt.Fprintf(w, "\npipeline %s\n", p.Name)
	var failed []string
	for _, name := range p.Queues {
		if !printQueue(w, p, r, "queue", name, "") {
			failed = append(failed, fmt.Sprintf("queue %q not found", name))
		}
	}
	targets, findings := topology.DeadLetters(p, &r.Sample, r.Topology)
	for _, t := range targets {
		if !printQueue(w, p, r, "dead-letter queue", t.Name, "; found by "+t.Found) {
			failed = append(failed, fmt.Sprintf("dead-letter queue %q not found", t.Name))
		}
	}
	if len(targets) == 0 {
		fmt.Fprintf(w, "  dead-letter queues: none found by arguments and policies of the queues\n")
	}
	for _, f := range findings {
		label := "NOTE"
		if f.Tier >= dedup.Severe {
			label = "PROBLEM"
			failed = append(failed, f.Kind)
		}
		fmt.Fprintf(w, "  %s %s: %s\n    %s\n    fix: %s\n", label, f.Kind, f.Text, f.Evidence, f.Remedy)
	}
	return toFix(failed)
}

// printQueue reports one queue, and whether the broker shows it.
func printQueue(w io.Writer, p dedup.Pipeline, r broker.Report, role, name, found string) bool {
	found = strings.Replace(found, "found by listed", "listed in dead_letter_queues", 1)
	q := findQueue(r.Sample.Queues, p.Vhost, name)
	if q == nil {
		fmt.Fprintf(w, "  PROBLEM %s %q: not found in vhost %q; it does not exist or permissions hide it%s\n", role, name, p.Vhost, found)
		return false
	}
	fmt.Fprintf(w, "  %s %q: %s, %s, %s%s\n", role, name, q.Type, number(q.Messages, "message"), number(q.Consumers, "consumer"), found)
	return true
}

func findQueue(queues []dedup.Queue, vhost, name string) *dedup.Queue {
	for i := range queues {
		if queues[i].Vhost == vhost && queues[i].Name == name {
			return &queues[i]
		}
	}
	return nil
}

func number(v *int64, noun string) string {
	if v == nil {
		return "an unknown number of " + noun + "s"
	}
	return amount(*v, noun)
}

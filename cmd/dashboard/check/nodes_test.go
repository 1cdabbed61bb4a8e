package check

import (
	"errors"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
)

func TestCheckTellsWhetherTheCountersOfNodesAreRead(t *testing.T) {
	nodes := func(n int) dedup.BrokerState { return dedup.BrokerState{Nodes: make([]dedup.Node, n)} }
	routed := int64(7)
	read, down := dedup.NodeTotals{URL: "http://n1:15692", Routed: &routed}, dedup.NodeTotals{URL: "http://n2:15692", Err: "connection refused"}
	for name, tt := range map[string]struct {
		sample dedup.BrokerSample
		words  []string
		fails  bool
	}{
		"none is listed":             {dedup.BrokerSample{State: nodes(1)}, []string{"NOTE node_counters_missing", "list every node in prometheus_urls"}, false},
		"all are read":               {dedup.BrokerSample{State: nodes(1), Totals: []dedup.NodeTotals{read}}, []string{"counters of nodes: read from 1 of 1\n"}, false},
		"one is not listed":          {dedup.BrokerSample{State: nodes(2), Totals: []dedup.NodeTotals{read}}, []string{"read from 1 of 2", "NOTE node_counters_missing: prometheus_urls lists 1 of 2 nodes"}, false},
		"one cannot be read":         {dedup.BrokerSample{State: nodes(2), Totals: []dedup.NodeTotals{read, down}}, []string{"read from 1 of 2", "PROBLEM node_counters_unreadable: http://n2:15692: connection refused"}, true},
		"one lacks a counter":        {dedup.BrokerSample{State: nodes(1), Totals: []dedup.NodeTotals{{URL: "http://n1:15692"}}}, []string{"NOTE node_counters_partial: http://n1:15692", "read from 1 of 1"}, false},
		"the nodes cannot be listed": {dedup.BrokerSample{Totals: []dedup.NodeTotals{read}}, []string{"read from 1 of 1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := printNodes(&out, tt.sample)
			if errors.Is(err, errNodeCounters) != tt.fails {
				t.Errorf("error %v", err)
			}
			for _, words := range tt.words {
				if !strings.Contains(out.String(), words) {
					t.Errorf("%q is missing in:\n%s", words, out.String())
				}
			}
			if len(tt.words) == 1 && strings.Contains(out.String(), "NOTE") {
				t.Errorf("a note where all is well:\n%s", out.String())
			}
		})
	}
}

package overview

import (
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestANodeThatIsDownIsToldOfOnce(t *testing.T) {
	away := dedup.Unknown(dedup.Count, "node http://127.0.0.1:15692 cannot be read: connection refused")
	status := &dedup.BrokerStatus{
		Name: "main", Health: dedup.SourceHealth{OK: true, Tried: true}, Deaths: &dedup.BrokerDeaths{Discarded: away},
		State:    dedup.BrokerState{Nodes: []dedup.Node{{Name: "one", Running: true}, {Name: "two"}}},
		Problems: []dedup.Problem{{Kind: "partial_answer", Text: "1 of 2 nodes do not run."}},
	}
	if card := brokerCard(status, time.Now()); len(card.Problems) != 1 || card.Tier != dedup.Severe.String() {
		t.Errorf("%+v", card)
	}
	status.State.Nodes[1].Running, status.Problems = true, nil
	if card := brokerCard(status, time.Now()); len(card.Problems) != 1 || card.Tier != dedup.Warning.String() {
		t.Errorf("an endpoint that is away while its node runs: %+v", card)
	}
}

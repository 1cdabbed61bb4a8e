package broker

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
)

const totals310 = `# TYPE rabbitmq_global_messages_acknowledged_total counter
rabbitmq_global_messages_acknowledged_total{protocol="amqp091",queue_type="rabbit_classic_queue"} 40
rabbitmq_global_messages_acknowledged_total{protocol="amqp091",queue_type="rabbit_quorum_queue"} 2
rabbitmq_global_messages_acknowledged_total{protocol="amqp10",queue_type="rabbit_quorum_queue"} 1000
# TYPE rabbitmq_global_messages_routed_total counter
rabbitmq_global_messages_routed_total{protocol="amqp091"} 45
rabbitmq_global_messages_routed_total{protocol="mqtt311"} 9
rabbitmq_queue_messages{queue="a{b"} nonsense
`

// totalsIn reads the totals of a whole exposition.
func totalsIn(text string, into *dedup.NodeTotals) error {
	lines, err := pickLines(strings.NewReader(text), deathsPrefix, acknowledgedTotal, routedTotal)
	if err != nil {
		return err
	}
	return readTotals(lines[1], lines[2], into)
}

// TestABrokenCounterSpoilsNoOther: the two are read in one walk, and parsed apart.
func TestABrokenCounterSpoilsNoOther(t *testing.T) {
	var got dedup.NodeTotals
	if err := totalsIn(totals310+deathsPrefix+"x_total{\n", &got); err != nil || got.Acked != 42 {
		t.Errorf("%+v, %v", got, err)
	}
	if counts, err := deathsIn(exposition + acknowledgedTotal + "{\n"); err != nil || len(counts) != 3 {
		t.Errorf("%v, %v", counts, err)
	}
}

func TestTheTotalsOfANodeAreThoseOfItsChannels(t *testing.T) {
	var got dedup.NodeTotals
	if err := totalsIn(totals310, &got); err != nil || got.Acked != 42 || got.Routed == nil || *got.Routed != 45 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRoutedMessagesThatAreNotToldAreNotZero(t *testing.T) {
	for name, text := range map[string]string{
		"renamed": strings.ReplaceAll(totals310, routedTotal, globalPrefix+"delivered_to_queues_total"),
		"broken":  totals310 + routedTotal + "{\n",
	} {
		var got dedup.NodeTotals
		if err := totalsIn(text, &got); err != nil || got != (dedup.NodeTotals{Acked: 42}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestATotalThatIsMissingIsNotZero(t *testing.T) {
	for _, tt := range []struct{ name, text, err string }{
		{"renamed", strings.ReplaceAll(totals310, "messages_acknowledged_total", "messages_acked_total"), "no counter rabbitmq_global_messages_acknowledged_total"},
		{"of another protocol alone", strings.ReplaceAll(totals310, "amqp091", "amqp10"), "no counter"},
		{"no count", strings.Replace(totals310, "} 40", "} NaN", 1), "no counter"},
		{"too large to add", strings.Replace(totals310, "} 40", "} 9.2e18", 1) + `rabbitmq_global_messages_acknowledged_total{protocol="amqp091",queue_type="x"} 9.2e18` + "\n", "no counter"},
		{"broken", totals310 + globalPrefix + "acknowledged_total{\n", "cannot be read"},
		{"absent", "", "no counter"},
	} {
		got := dedup.NodeTotals{}
		if err := totalsIn(tt.text, &got); err == nil || !strings.Contains(err.Error(), tt.err) || got != (dedup.NodeTotals{}) {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
}

func FuzzReadTotals(f *testing.F) {
	f.Add(totals310)
	f.Fuzz(func(t *testing.T, text string) {
		var got dedup.NodeTotals
		if err := totalsIn(text, &got); got.Acked < 0 || got.Routed != nil && *got.Routed < 0 || err != nil && got != (dedup.NodeTotals{}) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

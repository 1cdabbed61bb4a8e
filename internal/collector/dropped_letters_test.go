package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
)

func TestLostMessagesAreUnknownWhereDeadLettersAreDropped(t *testing.T) {
	at := func(v float64) dedup.WindowFigures {
		f := dedup.Exact(dedup.Measured, dedup.Count, v, time.Now(), rate.EventsSource)
		f.AtLeast = true
		return dedup.WindowFigures{Window: time.Hour, Lost: f}
	}
	dropping, kept := dedup.Finding{Drops: true}, dedup.Finding{Kind: "dead_letter_exchange_missing"}
	// The name of a queue is anybody's, and says nothing.
	hostileName := dedup.Finding{Text: "Dead-letter queue dead letters are being dropped has consumers"}
	for _, c := range []struct {
		name    string
		finding dedup.Finding
		lost    float64
		known   bool
	}{
		{"none seen, dropped", dropping, 0, false}, {"some seen, dropped", dropping, 3, true}, {"none seen, held back", kept, 0, true},
		{"a queue with a hostile name", hostileName, 0, true}, {"no finding", dedup.Finding{}, 0, true},
	} {
		st := dedup.PipelineStatus{Windows: []dedup.WindowFigures{at(c.lost)}, Findings: []dedup.Finding{c.finding}}
		hideLostWhereDropped(&st)
		if f := st.Windows[0].Lost; f.Known() != c.known || !c.known && (!strings.Contains(f.Why, "are dropped") || f.Window != time.Hour) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

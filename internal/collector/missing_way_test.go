package collector

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

func TestLostMessagesAreUnknownWhereDeadLettersAreDropped(t *testing.T) {
	at := func(v float64) dedup.WindowFigures {
		f := dedup.Exact(dedup.Measured, dedup.Count, v, time.Now(), eventSource)
		f.AtLeast = true
		return dedup.WindowFigures{Window: time.Hour, Lost: f}
	}
	missing, kept := missingExchange(), yard{}.queue("a", "quorum", "dead-letter-exchange", "gone", "dead-letter-strategy", "at-least-once", "overflow", "reject-publish").discover("a").Findings[0]
	cycle := cutCycle()
	// The name of a queue is anybody's, and says nothing.
	hostileName := deadLetterConsumers("dead letters are being dropped", ptr(1))[0]
	for _, c := range []struct {
		name    string
		finding dedup.Finding
		lost    float64
		known   bool
	}{
		{"none seen, way missing", missing, 0, false}, {"some seen, way missing", missing, 3, true}, {"none seen, held back", kept, 0, true},
		{"none seen, dropped in a loop", cycle, 0, false}, {"a queue with a hostile name", hostileName, 0, true}, {"no finding", dedup.Finding{}, 0, true},
	} {
		st := dedup.PipelineStatus{Windows: []dedup.WindowFigures{at(c.lost)}, Findings: []dedup.Finding{c.finding}}
		missingWay(&st)
		if f := st.Windows[0].Lost; f.Known() != c.known || !c.known && (!strings.Contains(f.Why, "are dropped") || f.Window != time.Hour) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// missingExchange is what is found of a queue whose dead-letter exchange does not exist.
func missingExchange() dedup.Finding { return sent(yard{}, "gone")[0] }

// cutCycle is what is found of two queues in each of which messages expire into the other.
func cutCycle() dedup.Finding {
	y := yard{}.queue("a", "classic", "message-ttl", int64(5), "dead-letter-exchange", "", "dead-letter-routing-key", "b").
		queue("b", "classic", "message-ttl", int64(5), "dead-letter-exchange", "", "dead-letter-routing-key", "a")
	all := y.discover("a").Findings
	return all[slices.IndexFunc(all, func(f dedup.Finding) bool { return f.Kind == "dead_letter_cycle_cut" })]
}

// TestTheIDGapSeesNoDroppedDeadLetters: what its rows tell of lost messages is a lower bound, as everywhere.
func TestTheIDGapSeesNoDroppedDeadLetters(t *testing.T) {
	out := dedup.WindowFigures{Window: time.Hour}
	x := explanation{gap: idGapResult{Lost: spread(dedup.Figure{Unit: dedup.Count}, dedup.Measured, 0, 0, 400)}}
	x.inserts(&out)
	if !out.Lost.Known() || !out.Lost.AtLeast || !strings.Contains(out.Lost.Why, "at least: messages dropped") {
		t.Fatalf("%+v", out.Lost)
	}
	st := dedup.PipelineStatus{Windows: []dedup.WindowFigures{out}, Findings: []dedup.Finding{missingExchange()}}
	if missingWay(&st); st.Windows[0].Lost.Known() {
		t.Errorf("where they are dropped: %+v", st.Windows[0].Lost)
	}
}

// TestFindingsThatDropDeadLettersSaySo looks at the findings of all cases: the words and the mark agree.
func TestFindingsThatDropDeadLettersSaySo(t *testing.T) {
	marked := map[string]bool{}
	for _, c := range findingCases() {
		for _, f := range c.found {
			words := false
			for _, w := range []string{"are being dropped", "is dropped when its dead letter", "they are dropped after one round", "; of this pipeline queue"} {
				words = words || strings.Contains(f.Text+f.Evidence, w)
			}
			if f.Drops != words {
				t.Errorf("%s %s: marked %v: %s", c.kind, c.name, f.Drops, f.Text)
			}
			if f.Drops {
				marked[f.Kind] = true
			}
		}
	}
	for _, kind := range []string{"dead_letter_exchange_missing", "dead_letter_route_missing", "dead_letter_key_alone", "dead_letter_stream", "dead_letter_cycle_cut", "dead_letters_discarded"} {
		if !marked[kind] {
			t.Errorf("no case of %s drops anything", kind)
		}
	}
}

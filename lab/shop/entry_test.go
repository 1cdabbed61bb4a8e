package shop

import (
	"testing"

	"dedup-dashboard/internal/message"
)

func TestARequeuedCopyIsCountedOncePerRequeue(t *testing.T) {
	first := copyID{id: "a"}
	requeued, again := copyID{id: "a", requeues: 1}, copyID{id: "a", requeues: 2}
	processed := func(truth *Truth) { truth.Processed++ }
	for _, tt := range []struct {
		name string
		do   func(*entry)
		want Truth // of which only the numbers below are compared
	}{
		{"seen twice before it is settled, as after a lost ack", func(e *entry) {
			e.cameBack(requeued)
			e.cameBack(requeued)
			e.settled(requeued, processed)
		}, Truth{Requeued: 1, Processed: 1}},
		{"dead again and requeued again", func(e *entry) {
			e.cameBack(requeued)
			e.died(requeued, message.DeathExpired, false)
			e.cameBack(again)
			e.settled(again, processed)
		}, Truth{Requeued: 2, Processed: 1, DeadLetters: 1}},
		{"dead again before any consumer saw it", func(e *entry) { e.died(requeued, message.DeathExpired, false) }, Truth{Requeued: 1, DeadLetters: 1}},
		{"sent twice by a requeue that was cut off", func(e *entry) {
			e.cameBack(requeued)
			e.settled(requeued, processed)
			e.cameBack(requeued)
			e.settled(requeued, processed)
		}, Truth{Requeued: 1, Processed: 2, SettledAgain: 1}},
		{"a death that the examiner hears of twice", func(e *entry) {
			e.published(first)
			e.died(first, message.DeathMaxLength, false)
			e.died(first, message.DeathMaxLength, true)
		}, Truth{Published: 1, DeadLetters: 1}},
		{"a first copy is no requeue", func(e *entry) {
			e.published(first)
			e.cameBack(first)
			e.settled(first, processed)
		}, Truth{Published: 1, Processed: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ledger := NewLedger(Config{Pipelines: []PipelineConfig{{Name: "orders"}}})
			tt.do(ledger.entries["orders"])
			got := ledger.Truth("orders")
			numbers := func(truth Truth) [6]int64 {
				return [6]int64{truth.Published, truth.Requeued, truth.Processed, truth.DeadLetters, truth.SettledAgain, truth.Queued}
			}
			if numbers(got) != numbers(tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestMostRequeuedMessagesAreMended(t *testing.T) {
	f := fate{1, PipelineConfig{Name: "refunds", Poison: 1}}
	broken := 0
	for n := range 1000 {
		if f.broken(copyID{id: messageID("refunds", 1, n), requeues: 1}) {
			broken++
		}
	}
	if broken < 200 || broken > 300 {
		t.Errorf("%d of 1000 are still broken, want about a quarter", broken)
	}
	f.config.Poison = 0
	if f.broken(copyID{id: messageID("refunds", 1, 1), requeues: 1}) {
		t.Error("a message that had nothing wrong is broken")
	}
}

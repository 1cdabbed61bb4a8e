package alerts

import (
	"testing"

	"dedup-dashboard/internal/dedup"
)

func TestAMessageHasTheWordsOfTheVariantThatJudged(t *testing.T) {
	base := soon()
	base[0].Measure = "ready"
	rules, err := Resolve(base, []Rule{
		{Name: "scripted", Match: map[string]string{"team": "shop"}, Step: "call the shop", Runbook: "https://wiki.example/shop"},
		{Name: "scripted", Match: map[string]string{"team": "bank"}, Title: "Of the bank", Step: "call the bank", Runbook: "docs/bank.md"},
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultDispatch()
	cfg.Channels, cfg.GroupWait, cfg.GroupInterval = []string{"ops"}, 0, 0
	cfg.RunbookLink = func(runbook string) string { return "see " + runbook }
	s := newStage(t, evaluatedAt, newStageJournal(), rules, func(d *EngineDeps) { d.Planner = NewDispatcher(cfg) })
	s.snapshots.snap = watching("orders", "emails", "transfers")
	for i, team := range []string{"shop", "post", "bank"} {
		s.snapshots.snap.Pipelines[i].Pipeline.Labels = map[string]string{"team": team}
	}
	want := map[string]Words{
		"orders":    {"scripted", "call the shop", "see https://wiki.example/shop"},
		"emails":    {"scripted", "", "see "},
		"transfers": {"Of the bank", "call the bank", "see docs/bank.md"},
	}
	told := func(edge EdgeKind) {
		t.Helper()
		heard := 0
		for _, n := range s.journal.due {
			for _, a := range n.Alerts {
				heard++
				if got := (Words{a.Title, a.Step, a.Runbook}); a.Edge != edge || got != want[a.Key.Subject] {
					t.Errorf("of %s that %s is told %+v, want %+v", a.Key.Subject, a.Edge, got, want[a.Key.Subject])
				}
			}
		}
		if heard != len(want) {
			t.Errorf("%d alerts that %s were told, want %d", heard, edge, len(want))
		}
		s.journal.due = nil
	}
	s.script(tierOf("orders", dedup.Severe), tierOf("emails", dedup.Severe), tierOf("transfers", dedup.Severe))
	s.tick(t.Context())
	told(EdgeFired)
	s.book = newRuleBook(nil) // a rule that is gone has had its words all the same
	s.tick(t.Context())
	told(EdgeResolved)
}

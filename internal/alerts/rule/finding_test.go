package rule

import (
	"slices"
	"testing"

	"dedup-dashboard/internal/dedup"
)

func found(kind string, tier dedup.Tier) dedup.Finding {
	return dedup.Finding{Kind: kind, Tier: tier, Text: "text of " + kind, Evidence: "evidence of " + kind}
}

func TestEachFindingIsToldByOneRule(t *testing.T) {
	own := map[string]string{
		"dead_letters_wait": "dead_letters", "stuck_markers": "stuck_markers", "marker_without_expiry": "markers_without_expiry", "looping": "redelivery_loop",
		"messages_given_up": "lost_messages", "failed_and_acked": "lost_messages", "double_effects": "double_effects", "no_consumers": "no_consumers",
		"auto_ack_consumers": "auto_ack", "markers_evicted": "store_eviction", "eviction_possible": "store_eviction",
		"head_blocked": "findings", "queue_missing": "findings", "dead_letter_exchange_missing": "findings", "hash_ids": "findings", "something_new": "findings",
	}
	for kind, rule := range own {
		p := quietPipeline()
		p.Findings = []dedup.Finding{found(kind, dedup.Warning)}
		if kind == "dead_letters_wait" {
			p.DeadLetters = exactly(1)
		}
		if kind == "marker_without_expiry" {
			p.MarkersNoExpiry = exactly(1)
		}
		for name, js := range judgedBy(t, roundOf(p)) {
			for _, j := range js {
				if j.Key.Kind == OfPipeline && (j.Enters > dedup.Normal) != (name == rule) {
					t.Errorf("finding %s: rule %s is at %s because %q", kind, name, j.Enters, j.Why)
				}
			}
		}
	}
}

func TestOneAlertTellsOfAllFindingsOfAPipeline(t *testing.T) {
	p := quietPipeline()
	p.Findings = []dedup.Finding{found("hash_ids", dedup.Warning), found("store_shared", dedup.Normal), found("head_blocked", dedup.Emergency), found("looping", dedup.Severe), found("queue_missing", dedup.Severe)}
	j := judgeOne(t, p, "findings")
	if j.Enters != dedup.Emergency || j.Holds != dedup.Emergency || j.Why != "text of head_blocked" || j.Value != 3 {
		t.Errorf("the alert is %+v", j)
	}
	if want := []string{"evidence of head_blocked", "text of hash_ids", "text of queue_missing"}; !slices.Equal(j.Evidence, want) {
		t.Errorf("its evidence is %q, want %q", j.Evidence, want)
	}
}

func TestBeforeTheFirstPassNoFindingIsNotNormal(t *testing.T) {
	p := quietPipeline()
	p.PassAge = dedup.Unknown(dedup.Seconds, "no complete pass over the store yet")
	if j := judgeOne(t, p, "findings"); j.Health != HealthNoData || j.Why != "no complete pass over the store yet" {
		t.Errorf("findings are %+v", j)
	}
	if j := judgeOne(t, p, "auto_ack"); j.Health != HealthOK {
		t.Errorf("findings of the broker do not wait for the store: %+v", j)
	}
	p.Findings = []dedup.Finding{found("head_blocked", dedup.Emergency)}
	if j := judgeOne(t, p, "findings"); j.Health != HealthOK || j.Enters != dedup.Emergency {
		t.Errorf("what was found is found: %+v", j)
	}
}

func TestACustomRuleOfFindingsTakesThemFromTheOthers(t *testing.T) {
	shop := map[string]string{"team": "shop"}
	rules := resolve(t, Rule{Name: "missing-queues", Findings: []string{"queue_missing"}, Match: shop})
	p := quietPipeline()
	p.Findings = []dedup.Finding{found("queue_missing", dedup.Severe)}
	for team, want := range map[string]string{"shop": "missing-queues", "ops": "findings"} {
		p.Pipeline.Labels = map[string]string{"team": team}
		for _, r := range rules {
			if r.Name != "findings" && r.Name != "missing-queues" {
				continue
			}
			fires := false
			js, _ := r.Judge(roundOf(p))
			for _, j := range js {
				fires = fires || j.Enters > dedup.Normal
			}
			if fires != (r.Name == want) {
				t.Errorf("of team %s rule %s fires: %v", team, r.Name, fires)
			}
		}
	}
}

package rule

import (
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
)

func TestTheBuiltInRulesAreInOrderAndRight(t *testing.T) {
	rules, err := Resolve(Defaults(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range rules {
		names = append(names, r.Name)
		if r.Title == "" || r.Meaning == "" || r.Step == "" || r.Runbook == "" || r.NoData == "" || r.Timing.KeepFiring <= 0 {
			t.Errorf("rule %s lacks words or times: %+v", r.Name, r)
		}
		if n := strings.Count(r.Meaning, "."); n != 1 || !strings.HasSuffix(r.Meaning, ".") || !strings.HasSuffix(r.Step, ".") {
			t.Errorf("rule %s: its meaning is not one sentence, or its step none: %q, %q", r.Name, r.Meaning, r.Step)
		}
		if r.Disabled != (r.Name == "backlog") {
			t.Errorf("rule %s: disabled is %v", r.Name, r.Disabled)
		}
	}
	want := strings.Fields(`duplicate_rate ack_latency dead_letters dead_letter_inflow shared_dead_letters shared_dead_letter_inflow stuck_markers markers_without_expiry redelivery_loop
		unacked_without_ack lost_messages double_effects failure_rate ack_timeouts backlog no_consumers consumer_restarts auto_ack
		store_eviction findings broker_alarm node_down partition minority source_unreachable watchdog evaluation_late outbox_old
		disk_nearly_full delivery_failed delivery_in_part audit_refused`)
	if !slices.Equal(names, want) {
		t.Errorf("the rules are %v, want %v", names, want)
	}
}

func TestTheBuiltInLimitsAreThoseOfTheContract(t *testing.T) {
	none := 0.0
	for name, want := range map[string][3]float64{
		"dead_letters": {1, none, none}, "dead_letter_inflow": {none, 10, 100}, "stuck_markers": {1, 10, none},
		"markers_without_expiry": {1, 100, none}, "redelivery_loop": {10, none, none}, "unacked_without_ack": {600, none, none},
		"lost_messages": {none, 1, 10}, "double_effects": {none, none, 1}, "failure_rate": {0.05, 0.20, none}, "ack_timeouts": {1, 10, none},
		"consumer_restarts": {12, 60, none}, "broker_alarm": {none, 1, none}, "node_down": {none, 1, none}, "partition": {none, none, 1},
		"minority": {none, 1, none}, "source_unreachable": {none, 120, none},
	} {
		i := slices.IndexFunc(Defaults(), func(r Rule) bool { return r.Name == name })
		if i < 0 {
			t.Errorf("there is no rule %s", name)
			continue
		}
		l := Defaults()[i].Limits
		for tier := dedup.Warning; tier <= dedup.Emergency; tier++ {
			got, limit := 0.0, l.of(tier)
			if limit != nil {
				got = *limit
			}
			if got != want[tier-dedup.Warning] {
				t.Errorf("rule %s: the %s limit is %v, want %v", name, tier, got, want[tier-dedup.Warning])
			}
		}
	}
}

func TestEveryBuiltInRuleJudgesTheSnapshot(t *testing.T) {
	for _, r := range resolve(t) {
		if _, ofSnapshot := r.Judge(NewRound(readAt, nil, Self{})); !ofSnapshot {
			t.Errorf("rule %s is judged by neither a measure nor findings", r.Name)
		}
	}
	if _, ofSnapshot := customRule().Judge(NewRound(readAt, nil, Self{})); ofSnapshot {
		t.Error("a rule by PromQL is no rule of the snapshot")
	}
}

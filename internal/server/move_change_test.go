package server

import (
	"maps"
	"net/url"
	"testing"

	"dedup-dashboard/internal/admin"
)

func TestAChangeOfAPlanMakesNoDefaultAChoice(t *testing.T) {
	plan := admin.MovePlan{
		Request: admin.MoveRequest{Do: admin.Requeue, Whole: true, Choices: map[admin.Class]admin.Choice{admin.ClassSkipped: admin.LeaveOut}},
		Choices: map[admin.Class]admin.Choice{admin.ClassSkipped: admin.LeaveOut, admin.ClassUnknown: admin.KeepAsIs, admin.ClassBlocks: admin.LeaveOut},
	}
	for name, c := range map[string]struct {
		form string
		want map[admin.Class]admin.Choice
	}{
		"only the canary and the rate":                {"canary=5&rate=10", plan.Request.Choices},
		"defaults as the form sends them along":       {"canary=5&choice-unknown=keep&choice-blocks=leave_out", plan.Request.Choices},
		"another choice":                              {"choice-blocks=clear_first", map[admin.Class]admin.Choice{admin.ClassSkipped: admin.LeaveOut, admin.ClassBlocks: admin.ClearFirst}},
		"a choice that was made before is taken back": {"choice-skipped=keep", map[admin.Class]admin.Choice{admin.ClassSkipped: admin.KeepAsIs}},
	} {
		form, err := url.ParseQuery(c.form)
		if err != nil {
			t.Fatal(err)
		}
		if req, err := changedMove(plan, form); err != nil || !maps.Equal(req.Choices, c.want) {
			t.Errorf("%s: %v, %v", name, req.Choices, err)
		}
	}
	if plan.Request.Choices[admin.ClassBlocks] != "" {
		t.Error("the plan itself was changed")
	}
}

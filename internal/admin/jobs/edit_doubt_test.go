package jobs_test

import (
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

func TestAnEditThatChangesNothingIsNoPlan(t *testing.T) {
	w := newWard(t)
	w.die("same")
	scan := w.look(t)
	for name, e := range map[string]move.Edit{
		"nothing":                    {},
		"the body that it has":       {Body: []byte(`{"id":1}`)},
		"the id that it has":         {MessageID: "same"},
		"a type that it has not":     {NoContentType: true},
		"a header that it never had": {Remove: []string{"none"}},
	} {
		_, err := w.planMove(t, ada, move.Request{Scan: scan.ID, Refs: []string{scan.Letters[0].Ref}, Edit: &e})
		if dedup.KindOf(err) != dedup.Invalid || !strings.Contains(dedup.PublicText(err), "changes nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := message.Message{}
	m.Headers = map[string]any{"n": int32(1)}
	if (move.Edit{Headers: map[string]string{"n": "1"}}).Changes(m) || !(move.Edit{Headers: map[string]string{"n": "2"}}).Changes(m) || !(move.Edit{Headers: map[string]string{"new": ""}}).Changes(m) {
		t.Error("headers are compared wrongly")
	}
}

func TestAPlanWarnsOfABodyThatIsNoJSONAnyMore(t *testing.T) {
	w := newWard(t)
	w.die("edited")
	p := w.editPlan(t, move.Edit{Body: []byte("{\n\"id\":")})
	if !slices.ContainsFunc(p.Guards, func(g move.Guard) bool {
		return !g.Blocking && strings.Contains(g.Text, "the body was JSON and is not JSON any more: line 2: ")
	}) {
		t.Errorf("the guards are %+v", p.Guards)
	}
	for _, g := range w.editPlan(t, move.Edit{Body: []byte(`{"id":2}`)}).Guards {
		if strings.Contains(g.Text, "JSON") {
			t.Errorf("good JSON is warned of: %s", g.Text)
		}
	}
}

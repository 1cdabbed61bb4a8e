package server

import (
	"encoding/json"
	"net/http"
	"testing"
)

func TestProgramsPlanExecuteAndReadWhatBecameOfIt(t *testing.T) {
	s := stocked(t, nil)
	var list markersJSON
	s.decode(s.as("viewer", "GET", "/api/v1/pipelines/orders/markers?verdict=orphan", ""), 200, &list)
	if len(list.Markers) != 7 || *list.Matching != 7 || *list.Listed != 21 || list.Markers[0].Verdict != "orphan" || list.Actable {
		t.Fatalf("the list has %d markers, actable %v", len(list.Markers), list.Actable)
	}
	body, _ := json.Marshal(map[string]any{"deed": "clear", "store": "orders", "keys": []string{list.Markers[0].Key}})
	var plan planJSON
	s.decode(s.as("admin", "POST", "/api/v1/markers/plan", string(body)), 201, &plan)
	if len(plan.Items) != 1 || plan.Items[0].Effect == "" || plan.Items[0].Hash == "" {
		t.Fatalf("the plan is %+v", plan)
	}
	var first, again map[string]string
	execute := "/api/v1/plans/" + plan.ID + "/execute"
	s.decode(s.as("admin", "POST", execute, `{"reason": "by a program"}`, "Idempotency-Key", "one"), 202, &first)
	s.decode(s.as("admin", "POST", execute, `{"reason": "by a program"}`, "Idempotency-Key", "one"), 202, &again)
	if first["operation"] == "" || first["operation"] != again["operation"] {
		t.Errorf("the same key gave %v and %v", first, again)
	}
	s.ended("/operations/" + first["operation"])
	var o operationJSON
	s.decode(s.as("operator", "GET", first["href"], ""), 200, &o)
	if o.Totals["cleared"] != 1 || o.Items[0].Restorable == nil || o.Reason != "by a program" {
		t.Errorf("the operation is %+v", o)
	}
	var audit struct{ Entries []struct{ Reason string } }
	s.decode(s.as("operator", "GET", "/api/v1/audit?operation="+o.ID, ""), 200, &audit)
	if len(audit.Entries) < 3 || audit.Entries[0].Reason != "by a program" {
		t.Errorf("the audit is %+v", audit)
	}
	var look lookupJSON
	s.decode(s.as("viewer", "GET", "/api/v1/lookup?id=order%3A88003", ""), 200, &look)
	if len(look.Stores) != 3 || len(look.Stores[0].Found) != 1 || look.Stores[2].Error == "" {
		t.Errorf("the look-up is %+v", look)
	}
	for _, bad := range []string{"", "[]", `{"deed": "clear", "stor": "orders"}`, `{"deed": "burn", "store": "orders", "keys": ["a"]}`, `{} {}`, `{"deed":"set_expiry","ttl_seconds":-1}`} {
		if res := s.as("admin", "POST", "/api/v1/markers/plan", bad); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", bad, res.Status)
		}
	}
}

func (s *site) decode(res *http.Response, status int, into any) {
	s.t.Helper()
	body := s.body(res)
	if res.StatusCode != status {
		s.t.Fatalf("%s, expected %d: %.300s", res.Status, status, body)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		s.t.Fatal(err)
	}
}

package marker_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/lab/admintest"
)

// methodsWithCaller returns the methods of Markers and the audit that somebody asks for.
func methodsWithCaller() []string {
	var names []string
	for method := range reflect.TypeFor[struct {
		*marker.Markers
		*admin.Trail
	}]().Methods() {
		for in := range method.Type.Ins() {
			if in == reflect.TypeFor[admin.Caller]() {
				names = append(names, method.Name)
			}
		}
	}
	return names
}

func TestEveryMethodAsksForItsRole(t *testing.T) {
	d := newDesk(t, nil)
	d.shelf.put(processing("1"))
	calls := map[string]struct {
		needs auth.Role
		call  func(who admin.Caller) error
	}{
		"Browse": {auth.Viewer, func(who admin.Caller) error {
			_, err := d.Browse(t.Context(), who, "orders", dedup.MarkerQuery{Limit: 10})
			return err
		}},
		"Look": {auth.Viewer, func(who admin.Caller) error { _, err := d.Look(t.Context(), who, "orders", "msg:1"); return err }},
		"Changed": {auth.Viewer, func(who admin.Caller) error {
			_, err := d.Changed(t.Context(), who, "orders", time.Time{})
			return err
		}},
		"Now": {auth.Operator, func(who admin.Caller) error {
			_, err := d.Now(t.Context(), who, "orders", []string{"msg:1"})
			return err
		}},
		"Lookup": {auth.Viewer, func(who admin.Caller) error { _, err := d.Lookup(t.Context(), who, "1"); return err }},
		"Plan": {auth.Admin, func(who admin.Caller) error {
			_, err := d.Plan(t.Context(), who, marker.PlanRequest{Deed: admin.ClearMarkers, Store: "orders", Keys: []string{"msg:1"}})
			return err
		}},
		"Planned": {auth.Admin, func(who admin.Caller) error { _, _, err := d.Planned(t.Context(), who, "x"); return err }},
		"Execute": {auth.Admin, func(who admin.Caller) error {
			_, err := d.Execute(t.Context(), who, marker.ExecuteRequest{PlanID: "x", Reason: why})
			return err
		}},
		"ClearFor": {auth.Admin, func(who admin.Caller) error {
			_, _, err := d.ClearFor(t.Context(), who, admin.ClearForRequest{Store: "orders", Keys: []string{"msg:2"}, Reason: why})
			return err
		}},
		"Operation":  {auth.Operator, func(who admin.Caller) error { _, err := d.Operation(t.Context(), who, "x"); return err }},
		"Operations": {auth.Operator, func(who admin.Caller) error { _, err := d.Operations(t.Context(), who, 10); return err }},
		"Audit": {auth.Operator, func(who admin.Caller) error {
			_, err := d.Audit(t.Context(), who, admin.AuditQuery{Limit: 10})
			return err
		}},
		"Acts": {auth.Operator, func(who admin.Caller) error {
			_, err := d.Acts(t.Context(), who, admin.AuditQuery{Limit: 10})
			return err
		}},
		"VerifyAudit": {auth.Operator, func(who admin.Caller) error { _, err := d.VerifyAudit(t.Context(), who); return err }},
	}
	for _, name := range methodsWithCaller() {
		if _, ok := calls[name]; !ok {
			t.Errorf("method %s is not in this table", name)
		}
	}
	for name, c := range calls {
		for role := auth.Nobody; role <= auth.Admin; role++ {
			err := c.call(admintest.Caller("who", role))
			if denied := dedup.KindOf(err) == dedup.Forbidden; denied != (role < c.needs) {
				t.Errorf("%s as %s: %v", name, role, err)
			}
		}
	}
	entries, err := d.Audit(t.Context(), operator, admin.AuditQuery{Limit: 500})
	denied := func(e admin.Entry) bool { return e.Phase == admin.Denied && e.Who == "who" }
	if err != nil || !slices.ContainsFunc(entries, denied) {
		t.Errorf("refusals are not in the audit: %v, %v", entries, err)
	}
}

func TestReadOnlyAndMissingCredentialsRefuseAndSayWhy(t *testing.T) {
	readOnly := newDesk(t, func(deps *marker.Deps, _ *journal.DB) { deps.ReadOnly = true })
	plain := newDesk(t, nil)
	for _, c := range []struct {
		d     *desk
		store string
		kind  dedup.Kind
		want  string
	}{
		{readOnly, "orders", dedup.Forbidden, "the dashboard is read-only (server.read_only)"},
		{plain, "watched", dedup.Forbidden, "store watched has no act credentials in the configuration"},
		{plain, "a\u202eb", dedup.NotFound, `there is no store a\u202eb`},
		{plain, "orders", "", ""},
	} {
		if got := c.d.WhyNot(c.store); got != c.want {
			t.Errorf("%s: %q", c.store, got)
		}
		_, err := c.d.Plan(t.Context(), ada, marker.PlanRequest{Deed: admin.ClearMarkers, Store: c.store, Keys: []string{"msg:1"}})
		if c.want != "" && (dedup.KindOf(err) != c.kind || !strings.Contains(dedup.PublicText(err), c.want)) {
			t.Errorf("%s: %v", c.store, err)
		}
	}
}

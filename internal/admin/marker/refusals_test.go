package marker_test

import (
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/journal"
	"dedup-dashboard/lab/admintest"
)

// onDesk asks something of Markers.
func onDesk(ask func(*testing.T, *desk, admin.Caller) error) func(*testing.T, admin.Caller) (error, *journal.DB) {
	return func(t *testing.T, who admin.Caller) (error, *journal.DB) {
		d := newDesk(t, nil)
		d.shelf.put(processing("1"))
		return ask(t, d, who), d.db
	}
}

func TestEveryRefusalOfSomebodyWhoMayChangeMarkersLeavesOneDeniedEntryWithItsReason(t *testing.T) {
	for name, c := range map[string]struct {
		action string
		who    admin.Caller
		ask    func(*testing.T, admin.Caller) (error, *journal.DB)
	}{
		"a plan for markers that nobody may change": {"plan", ada, onDesk(func(t *testing.T, d *desk, who admin.Caller) error {
			_, err := d.Plan(t.Context(), who, marker.PlanRequest{Deed: admin.ClearMarkers, Store: "watched", Keys: []string{"msg:1"}})
			return err
		})},
		"a plan of markers that is too old": {"execute_plan", ada, onDesk(func(t *testing.T, d *desk, who admin.Caller) error {
			p := d.plan(t, who, "1")
			d.clock.Advance(admin.PlanLife + time.Second)
			_, err := d.Execute(t.Context(), who, marker.ExecuteRequest{PlanID: p.ID, Reason: why})
			return err
		})},
		"clearing markers for a requeue that nobody may change": {"clear_for_requeue", ada, onDesk(func(t *testing.T, d *desk, who admin.Caller) error {
			_, _, err := d.ClearFor(t.Context(), who, admin.ClearForRequest{Store: "watched", Keys: []string{"msg:1"}, Reason: why})
			return err
		})},
	} {
		t.Run(name, func(t *testing.T) {
			c.who.Name = "rae" // what was done before was done by others
			err, db := c.ask(t, c.who)
			entries, failed := db.Audit().Entries(t.Context(), admin.TrailQuery{Limit: 500, TrailFilter: admin.TrailFilter{Who: "rae"}})
			admintest.Must(t, failed)
			admintest.Denied(t, c.action, err, entries)
		})
	}
}

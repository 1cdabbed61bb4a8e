package admin_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/admintest"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/markerstest"
	"dedup-dashboard/internal/secret"
)

// looseTable is a store over a table whose id column takes ids in both cases for one, with a done row of x-abc.
func looseTable(t *testing.T, servers *markerstest.SQLServers, driver string) (*markerstest.Database, markers.Store) {
	t.Helper()
	db := servers.Database(t, driver)
	column := "VARCHAR(64) COLLATE utf8mb4_general_ci"
	if driver == "postgres" {
		db.Exec(t, "CREATE EXTENSION IF NOT EXISTS citext")
		column = "citext"
	}
	db.Exec(t, "CREATE TABLE message_dedup (message_id "+column+" PRIMARY KEY, status INT NOT NULL, business_key VARCHAR(64))", "INSERT INTO message_dedup VALUES ('x-abc', 1, 'order:1')")
	cfg, _ := markers.Preset("sql-status-code")
	cfg.Name, cfg.SQL = "shop", markers.SQL{Driver: driver, DSN: secret.New(db.AdminDSN())}
	cfg.Columns = markers.Columns{ID: markers.ColumnList{"message_id"}, Status: "status", BusinessKey: "business_key"}
	return db, markerstest.OpenStore(t, cfg)
}

func TestADoneRowOfAnotherMessageIsNoReasonToDiscardOne(t *testing.T) {
	var servers markerstest.SQLServers
	t.Cleanup(func() { admintest.Must(t, servers.Stop()) })
	for _, driver := range markerstest.Drivers() {
		t.Run(driver, func(t *testing.T) {
			_, store := looseTable(t, &servers, driver)
			pipelines := []dedup.Pipeline{{Name: "orders", Broker: "main", Vhost: "/", Queues: []string{"orders"}, Store: "shop", IDFrom: "message_id", MaxProcessing: time.Millisecond, Limits: dedup.DefaultLimits()}}
			stores := []admin.PreflightStore{{Name: "shop", Scheme: store.Scheme(), Finder: store.(interface {
				markers.Store
				markers.Reader
			})}}
			preflight, err := admin.NewPreflighter(pipelines, stores)
			admintest.Must(t, err)
			letters := []dedup.DeadLetter{deadLetter("x-abc", noon, nil), deadLetter("x-ABC", noon, nil), deadLetter("y-abc", noon, nil), deadLetter("y-ABC", noon, nil)}
			got, err := preflight.Preflight(t.Context(), "orders", letters, noon)
			admintest.Must(t, err)
			for i, want := range []admin.Class{admin.ClassSkipped, admin.ClassSwallowed, admin.ClassLastAttempt, admin.ClassUnknown} {
				if x := got.Letters[i]; x.Class != want {
					t.Errorf("%s: %s, want %s: %s", x.ID, x.Class, want, x.Why())
				}
			}
			if x := got.Letters[1]; x.ClearFirst || x.ClearDone || x.BusinessKey != "" || !strings.Contains(x.Why(), "another message, id x-abc") {
				t.Errorf("%+v", x)
			}
			w := newWard(t, func(deps *admin.DeadLettersDeps) { deps.Stores, deps.Preflight = stores, preflight })
			w.die("x-ABC")
			id := w.begin(t, admin.MoveRequest{Whole: true, Choices: map[admin.Class]admin.Choice{admin.ClassSwallowed: admin.KeepAsIs}})
			job := w.until(t, id, func(j admin.Job) bool { return j.Aftermath != nil })
			items, err := w.JobItems(t.Context(), operator, id, 0, 10)
			admintest.Must(t, err)
			if len(items) != 1 || items[0].Class != admin.ClassSwallowed || items[0].Became != admin.BecameUnknown || job.Aftermath.Total(admin.BecameDone) != 0 {
				t.Errorf("%s: %+v; aftermath %+v", job.Why, items, job.Aftermath)
			}
			stats, err := store.Stats(t.Context())
			admintest.Must(t, err)
			if two := stats.Facts.TwoIDs; two == nil || two.Asked != "x-ABC" || two.Row != "x-abc" || two.MayBeOwn {
				t.Errorf("the store says %+v", two)
			}
		})
	}
}

func TestAJobClearsNoMarkerOfAnotherMessage(t *testing.T) {
	var servers markerstest.SQLServers
	t.Cleanup(func() { admintest.Must(t, servers.Stop()) })
	db, store := looseTable(t, &servers, "mysql")
	db.Exec(t, "UPDATE message_dedup SET status = 0")
	found, err := store.(markers.Reader).Find(t.Context(), []string{"x-ABC", "x-abc"})
	admintest.Must(t, err)
	for i, want := range []bool{false, true} {
		if p := admin.Predict(store.Scheme(), found[i], admin.LetterFacts{ID: "x", At: noon, Born: noon}); p.Class != admin.ClassSwallowed || p.ClearFirst != want {
			t.Errorf("%s: %+v", found[i].ID, p)
		}
	}
}

func TestAMarkerOfAnotherMessageNeverMakesOneSafeToDiscardNorToBeCleared(t *testing.T) {
	schemes := map[string]dedup.Scheme{"status code": statusCode(), "status name": statusName(), "nack": with(statusCode(), func(s *dedup.Scheme) { s.OnInFlight, s.OnFailed = "nack", "run" }),
		"row": with(statusCode(), func(s *dedup.Scheme) { s.Mark, s.States, s.Transactional = "after", []dedup.State{dedup.Present}, true })}
	for name, s := range schemes {
		for _, state := range slices.DeleteFunc(dedup.States(), func(st dedup.State) bool { return st == dedup.StateUnknown }) {
			for _, ends := range []time.Duration{0, -time.Hour, time.Hour} {
				for _, mayBeOwn := range []bool{false, true} {
					m := marked(state, ends)
					m.ID, m.Other = "x-abc", &dedup.OtherID{Asked: "x-ABC", MayBeOwn: mayBeOwn}
					p := admin.Predict(s, m, admin.LetterFacts{ID: "x-ABC", At: noon, Born: noon})
					if p.Class == admin.ClassSkipped || p.ClearFirst || p.ClearDone || p.MayRepeat || p.Class == admin.ClassSwallowed && mayBeOwn {
						t.Errorf("%s, %s, ends %s, may be own %t: %+v", name, state, ends, mayBeOwn, p)
					}
					if state == dedup.Done && len(s.States) > 1 && p.Class != admin.ClassSwallowed && p.Class != admin.ClassPerhapsSwallowed {
						t.Errorf("%s, done, ends %s: %s", name, ends, p.Class)
					}
				}
			}
		}
	}
}

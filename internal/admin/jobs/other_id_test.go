package jobs_test

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/admintest"
	"dedup-dashboard/lab/markerstest"
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

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func deadLetter(id string) dedup.DeadLetter {
	return dedup.NewDeadLetter(deadQueue, message.Message{Properties: message.Properties{MessageID: id, Timestamp: noon()}})
}

func TestADoneRowOfAnotherMessageIsNoReasonToDiscardOne(t *testing.T) {
	var servers markerstest.SQLServers
	t.Cleanup(func() { admintest.Must(t, servers.Stop()) })
	for _, driver := range markerstest.Drivers() {
		t.Run(driver, func(t *testing.T) {
			_, store := looseTable(t, &servers, driver)
			pipelines := []dedup.Pipeline{{Name: "orders", Broker: "main", Vhost: "/", Queues: []string{"orders"}, Store: "shop", IDFrom: "message_id", MaxProcessing: time.Millisecond, Limits: dedup.DefaultLimits()}}
			stores := []preflight.Store{{Name: "shop", Scheme: store.Scheme(), Finder: store.(interface {
				markers.Store
				markers.Reader
			})}}
			predictor, err := preflight.New(pipelines, stores)
			admintest.Must(t, err)
			letters := []dedup.DeadLetter{deadLetter("x-abc"), deadLetter("x-ABC"), deadLetter("y-abc"), deadLetter("y-ABC")}
			got, err := predictor.Preflight(t.Context(), "orders", letters, noon())
			admintest.Must(t, err)
			for i, want := range []preflight.Class{preflight.ClassSkipped, preflight.ClassSwallowed, preflight.ClassLastAttempt, preflight.ClassUnknown} {
				if x := got.Letters[i]; x.Class != want {
					t.Errorf("%s: %s, want %s: %s", x.ID, x.Class, want, x.Why())
				}
			}
			if x := got.Letters[1]; x.ClearFirst || x.ClearDone || x.BusinessKey != "" || !strings.Contains(x.Why(), "another message, id x-abc") {
				t.Errorf("%+v", x)
			}
			w := newWard(t, func(deps *jobs.DeadLettersDeps) { deps.Stores, deps.Preflight = stores, predictor })
			w.die("x-ABC")
			id := w.begin(t, move.Request{Whole: true, Choices: map[preflight.Class]preflight.Choice{preflight.ClassSwallowed: preflight.KeepAsIs}})
			job := w.until(t, id, func(j jobs.Job) bool { return j.Aftermath != nil })
			items, err := w.JobItems(t.Context(), operator, id, 0, 10)
			admintest.Must(t, err)
			if len(items) != 1 || items[0].Class != preflight.ClassSwallowed || items[0].Became != jobs.BecameUnknown || job.Aftermath.Total(jobs.BecameDone) != 0 {
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
		if p := preflight.Predict(store.Scheme(), found[i], preflight.LetterFacts{ID: "x", At: noon(), Born: noon()}); p.Class != preflight.ClassSwallowed || p.ClearFirst != want {
			t.Errorf("%s: %+v", found[i].ID, p)
		}
	}
}

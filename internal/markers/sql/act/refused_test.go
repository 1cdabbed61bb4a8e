package act_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/lab/markerstest"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
)

func TestAMissingGrantIsNamedAndIsEnough(t *testing.T) {
	t.Parallel()
	fewer := map[string][]string{
		"no table":  nil,
		"no DELETE": {"GRANT SELECT, INSERT ON message_dedup TO ACCOUNT"},
		"no SELECT of one column": {"GRANT SELECT (id, message_id, business_key, status, created_at, updated_at), UPDATE (id) ON message_dedup TO ACCOUNT",
			"GRANT DELETE, INSERT ON message_dedup TO ACCOUNT"},
	}
	onBoth(t, func(t *testing.T, driver string) {
		for name, grants := range fewer {
			t.Run(name, func(t *testing.T) {
				a := openDedup(t, driver)
				seen := a.look(t, a.insert(t, "m1", 0))
				cfg := a.cfg
				cfg.Act.SQL.DSN = secret.New(a.User(t, grants...))
				actor := newActor(t, cfg)
				outcome := actor.Clear(t.Context(), seen, false, markerstest.KeepNothing)
				if driver == "mysql" && name == "no table" {
					// Without any right on it the server does not even let the account into the database.
					wantResult(t, outcome, dedup.Refused, "Access denied")
					wantResult(t, outcome, dedup.Refused, "GRANT SELECT, INSERT, DELETE ON `"+a.Name+"`.`message_dedup` TO ")
					return
				}
				wantResult(t, outcome, dedup.Refused, "GRANT SELECT, INSERT, DELETE")
				if a.rows(t) != 1 {
					t.Fatal("the row is gone")
				}
				a.Exec(t, outcome.Text[strings.LastIndex(outcome.Text, "GRANT "):])
				var kept keeper
				wantResult(t, actor.Clear(t.Context(), seen, false, kept.keep), dedup.Cleared, "")
				wantResult(t, actor.Restore(t.Context(), kept.images[0]), dedup.Restored, "")
			})
		}
	})
}

func TestBusinessRowsAreNeverDeleted(t *testing.T) {
	t.Parallel()
	machine := func(c *markers.Config) {
		c.Terminal, c.Transitions = []string{"1"}, map[string][]string{"0": {"1"}}
	}
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedup(t, driver)
		seen := a.look(t, a.insert(t, "m1", 0))
		for name, change := range map[string]func(*markers.Config){
			"unique row":             func(c *markers.Config) { c.Preset = "sql-unique-row" },
			"state machine":          func(c *markers.Config) { c.Preset = "sql-state-machine" },
			"declared transitions":   machine,
			"row of the work itself": func(c *markers.Config) { c.Transactional, c.Columns.Status = true, "" },
		} {
			cfg := a.cfg
			change(&cfg)
			actor := newActor(t, cfg)
			for _, outcome := range []dedup.Outcome{
				actor.Clear(t.Context(), seen, false, markerstest.KeepNothing),
				actor.Expire(t.Context(), seen, time.Minute),
				actor.Restore(t.Context(), seen),
			} {
				if outcome.Result != dedup.Refused || !strings.Contains(outcome.Text, "a business row, not a marker") {
					t.Errorf("%s: %+v", name, outcome)
				}
			}
		}
		if a.rows(t) != 1 {
			t.Error("the row is gone")
		}
	})
}

func TestASightingThatProvesTooLittleIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openLog(t, driver)
		a.insertLog(t, "old", "'2026-01-01'")
		a.insertLog(t, "young", "now() + INTERVAL '1' MINUTE") // it stays young on a busy machine
		old := a.look(t, "old")
		change := func(of dedup.Sighting, by func(*dedup.Sighting)) dedup.Sighting {
			by(&of)
			return of
		}
		for words, seen := range map[string]dedup.Sighting{
			"younger than 2s":             a.look(t, "young"),
			"another server answers":      change(old, func(s *dedup.Sighting) { s.Server = "other/1" }),
			`of the store "refunds"`:      change(old, func(s *dedup.Sighting) { s.Store = "refunds" }),
			"not a row":                   change(old, func(s *dedup.Sighting) { s.Type = "string" }),
			"cannot be decoded":           change(old, func(s *dedup.Sighting) { s.State = dedup.StateUnknown }),
			"cannot be read":              change(old, func(s *dedup.Sighting) { s.Value = []byte("[1]") }),
			`"business_key" was not seen`: change(old, func(s *dedup.Sighting) { s.Value = []byte(`{"message_id":"old"}`) }),
			`"more" was seen`: change(old, func(s *dedup.Sighting) {
				s.Value = []byte(strings.Replace(string(s.Value), "{", `{"more":"1",`, 1))
			}),
		} {
			wantResult(t, a.actor.Clear(t.Context(), seen, false, markerstest.KeepNothing), dedup.Refused, words)
		}
		stopped, stop := context.WithCancel(t.Context())
		stop()
		wantResult(t, a.actor.Clear(stopped, old, false, markerstest.KeepNothing), dedup.NotDone, "stopped")
		if a.rows(t) != 2 {
			t.Errorf("%d rows, want 2", a.rows(t))
		}
		cfg := a.cfg
		cfg.Columns.Created = ""
		timeless := openActed(t, a.Database, cfg, a.AdminDSN(), a.AdminDSN())
		wantResult(t, timeless.actor.Clear(t.Context(), timeless.look(t, "old"), false, markerstest.KeepNothing), dedup.Refused, "would look the same")
	})
}

func TestWhatTheTableItselfForbidsIsRefusedInWords(t *testing.T) {
	t.Parallel()
	raise := map[string][]string{
		"mysql": {"CREATE TRIGGER guard BEFORE DELETE ON message_dedup FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'markers stay'"},
		"postgres": {"CREATE FUNCTION guard() RETURNS trigger AS $$BEGIN RAISE EXCEPTION 'markers stay'; END$$ LANGUAGE plpgsql",
			"CREATE TRIGGER guard BEFORE DELETE ON message_dedup FOR EACH ROW EXECUTE FUNCTION guard()"},
	}
	swallow := []string{"CREATE FUNCTION swallow() RETURNS trigger AS $$BEGIN RETURN NULL; END$$ LANGUAGE plpgsql",
		"CREATE TRIGGER swallow BEFORE DELETE ON message_dedup FOR EACH ROW EXECUTE FUNCTION swallow()"}
	child := "CREATE TABLE child (marker BIGINT, FOREIGN KEY (marker) REFERENCES message_dedup (id)%)"
	fill := "INSERT INTO child SELECT id FROM message_dedup"
	onBoth(t, func(t *testing.T, driver string) {
		cases := map[string]struct {
			statements []string
			words      string
		}{
			"a foreign key":           {[]string{strings.Replace(child, "%", "", 1), fill}, "foreign key"},
			"a cascading foreign key": {[]string{strings.Replace(child, "%", " ON DELETE CASCADE", 1), fill}, "would be deleted or changed along with it"},
			"a trigger":               {raise[driver], `DELETE has trigger "guard"|markers stay`}, // MySQL shows it to those alone who may make triggers
		}
		if driver == "postgres" {
			cases["a trigger that keeps silent"] = struct {
				statements []string
				words      string
			}{swallow, `trigger "swallow"`}
		} else {
			cases["an engine without transactions"] = struct {
				statements []string
				words      string
			}{[]string{"ALTER TABLE message_dedup ENGINE = MyISAM"}, "MyISAM"}
		}
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				a := openDedup(t, driver)
				seen := a.look(t, a.insert(t, "m1", 0))
				a.Exec(t, c.statements...)
				outcome := a.actor.Clear(t.Context(), seen, false, markerstest.KeepNothing)
				says := func(words string) bool {
					return strings.Contains(strings.ToLower(outcome.Text), strings.ToLower(words))
				}
				if outcome.Result != dedup.Refused || !slices.ContainsFunc(strings.Split(c.words, "|"), says) || a.rows(t) != 1 {
					t.Errorf("%+v, %d rows; want refused with %q", outcome, a.rows(t), c.words)
				}
			})
		}
	})
}

func TestAnInsertThatIsNotCommittedYetRefusesTheRestore(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedup(t, driver)
		var kept keeper
		wantResult(t, a.actor.Clear(t.Context(), a.look(t, a.insert(t, "m1", 0)), false, kept.keep), dedup.Cleared, "")
		tx, err := a.Admin.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO message_dedup (message_id) VALUES ('m1')"); err != nil {
			t.Fatal(err)
		}
		wantResult(t, a.actor.Restore(t.Context(), kept.images[0]), dedup.Refused, "a live transaction holds the row")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		wantResult(t, a.actor.Restore(t.Context(), kept.images[0]), dedup.Refused, "there is a marker again")
		if a.rows(t) != 1 {
			t.Errorf("%d rows, want 1", a.rows(t))
		}
	})
}

func TestATableThatChangesUnderTheActorIsSeen(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, driver string) {
		a := openDedup(t, driver)
		first, second := a.look(t, a.insert(t, "m1", 0)), a.look(t, a.insert(t, "m2", 0))
		wantResult(t, a.actor.Clear(t.Context(), first, false, markerstest.KeepNothing), dedup.Cleared, "")
		a.Exec(t, "ALTER TABLE message_dedup ADD COLUMN extra VARCHAR(9) DEFAULT 'x'")
		wantResult(t, a.actor.Clear(t.Context(), second, false, markerstest.KeepNothing), dedup.Refused, "the columns of the table changed")
		var kept keeper
		wantResult(t, a.actor.Clear(t.Context(), second, false, kept.keep), dedup.Cleared, "")
		if !strings.Contains(string(kept.images[0].Value), `"extra":"x"`) {
			t.Errorf("image %s", kept.images[0].Value)
		}
	})
}

package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"dedup-dashboard/internal/config"
)

// testdata/upgrade is what the version before the packages were split has left: its configuration and its data directory, after two minutes of the
// sample shop in which its first admin (ada) cleared three markers, requeued two dead letters, discarded one, silenced, acknowledged and marked.
const upgradeDir = "testdata/upgrade"

// upgradeMade is when that data directory was last written.
func upgradeMade() time.Time { return time.Date(2026, 11, 27, 11, 54, 12, 0, time.UTC) }

// TestADataDirectoryOfAnEarlierVersionIsTakenOver starts the program on a copy of it, and looks for everything that was done there.
func TestADataDirectoryOfAnEarlierVersionIsTakenOver(t *testing.T) {
	cfg := earlierVersion(t)
	var out, log output
	app, err := New(t.Context(), cfg, newLog(&log), &out)
	if err != nil {
		t.Fatal(err)
	}
	var g errgroup.Group
	g.Go(func() error { return app.Run(t.Context()) })
	t.Cleanup(func() {
		if err := g.Wait(); err != nil {
			t.Errorf("stopping: %v\n%s", err, log.String())
		}
	})
	b := &visitor{base: "http://" + app.Addr().String()}
	await(t, "readiness", func() bool { return status(t, http.DefaultClient, b.base+"/readyz") == http.StatusOK })
	b.signIn(t, "ada", "correct-horse-1")
	b.seesWhatWasDone(t)
	b.followsOldLinks(t)
	if strings.Contains(out.String(), "/setup?token=") {
		t.Error("it offers to make a first admin, though there is one")
	}
}

// TestTheAuditOfAnEarlierVersionStillVerifies holds the chain of hashes, which is of the bytes of each entry.
func TestTheAuditOfAnEarlierVersionStillVerifies(t *testing.T) {
	cfg := earlierVersion(t)
	var out output
	config := filepath.Join(filepath.Dir(cfg.DataDir), "dashboard.yaml")
	if code := run(t.Context(), []string{"audit", "verify", "-config", config}, streams{strings.NewReader(""), &out, &out}); code != exitOK {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}

// earlierVersion copies that data directory, with its times moved to the present, and loads its configuration.
func earlierVersion(t *testing.T) *config.Config {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.CopyFS(data, os.DirFS(filepath.Join(upgradeDir, "data"))); err != nil {
		t.Fatal(err)
	}
	dateAnew(t, filepath.Join(data, "journal.db"), time.Since(upgradeMade()))
	text, err := os.ReadFile(filepath.Join(upgradeDir, "dashboard.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "dashboard.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "DATA", data, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// dateAnew moves every time in the journal on, in columns of Unix milliseconds and in JSON: what is old is deleted, and the test shall hold next year too.
func dateAnew(t *testing.T, path string, by time.Duration) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range column(t, db, `SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'schema_migrations'`) {
		for _, c := range column(t, db, fmt.Sprintf(`SELECT name FROM pragma_table_info('%s') WHERE type = 'INTEGER'`, table)) {
			near := fmt.Sprintf("%s BETWEEN %d AND %d", c, upgradeMade().AddDate(-1, 0, 0).UnixMilli(), upgradeMade().AddDate(1, 0, 0).UnixMilli())
			execSQL(t, db, fmt.Sprintf(`UPDATE %s SET %s = %s + ? WHERE %s`, table, c, c, near), by.Milliseconds())
		}
		for _, body := range column(t, db, fmt.Sprintf(`SELECT name FROM pragma_table_info('%s') WHERE name = 'body'`, table)) {
			for _, old := range column(t, db, fmt.Sprintf(`SELECT %s FROM %s`, body, table)) {
				execSQL(t, db, fmt.Sprintf(`UPDATE %s SET %s = ? WHERE %s = ?`, table, body, body), datedAnew(old, by), old)
			}
		}
	}
}

func datedAnew(text string, by time.Duration) string {
	return regexp.MustCompile(`"202[67]-\d\d-\d\dT[0-9:.]+Z"`).ReplaceAllStringFunc(text, func(quoted string) string {
		at, err := time.Parse(time.RFC3339Nano, strings.Trim(quoted, `"`))
		if err != nil {
			return quoted
		}
		return `"` + at.Add(by).Format(time.RFC3339Nano) + `"`
	})
}

// column reads the first column of every row.
func column(t *testing.T, db *sql.DB, query string) (values []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		values = append(values, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return values
}

func execSQL(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// visitor is somebody with a browser.
type visitor struct {
	base   string
	client http.Client
}

func (v *visitor) signIn(t *testing.T, name, password string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v.client = http.Client{Jar: jar, Timeout: time.Minute}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.base+"/login", strings.NewReader(url.Values{"username": {name}, "password": {password}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", v.base)
	resp, err := v.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Request.URL.Path == "/login" {
		t.Fatalf("signing in leads to %s with %d", resp.Request.URL, resp.StatusCode)
	}
}

func (v *visitor) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	resp, err := v.client.Get(v.base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// seesWhatWasDone asks the API for each thing that was done in the earlier version.
func (v *visitor) seesWhatWasDone(t *testing.T) {
	t.Helper()
	for _, tt := range []struct {
		name, path string
		want       []string // of the answer without spaces
	}{
		{"the jobs", "/api/v1/jobs", []string{`"reason":"thebugisfixed"`, `"moved":2`, `"reason":"thisorderwascancelled"`, `"moved":1`}},
		{"the messages of a job", "/api/v1/jobs/6TATMJ3I7OJXLHVPEAE26A2P2M/items", []string{"dedup.parking.orders.dlq"}},
		{"the cleared markers, which can still be restored", "/api/v1/operations/C64CPMYIP3N5I3BDYZFRQ3EJYF",
			[]string{`"totals":{"cleared":3}`, `"key":"msg:shipping-1-0000020"`}},
		{"the silence, which still holds", "/api/v1/silences", []string{`"state":"active"`, `"reason":"theshopisrebuilt"`}},
		{"the acknowledgement of an alert that still fires", "/api/v1/alerts/one?key=dead_letters%2Fpipeline%2Forders",
			[]string{`"acknowledged":{"by":"ada","note":"lookingatit"`, `"phase":"firing"`, `"kind":"fired"`}},
		{"the mark", "/api/v1/marks", []string{`"text":"deployed1.4"`}},
		{"the audit", "/api/v1/audit", []string{`"action":"clear_markers"`, `"action":"acknowledge_alert"`}},
	} {
		code, body := v.get(t, tt.path)
		var spaceless strings.Builder
		for part := range strings.FieldsSeq(body) {
			spaceless.WriteString(part)
		}
		for _, want := range tt.want {
			if code != http.StatusOK || !json.Valid([]byte(body)) || !strings.Contains(spaceless.String(), want) {
				t.Errorf("%s: %s answers %d without %s:\n%s", tt.name, tt.path, code, want, body)
			}
		}
	}
	from, to := upgradeMade().Add(-5*time.Minute), upgradeMade().Add(time.Minute)
	path := "/pipelines/orders/chart.csv?chart=duplicates&from=" + from.Format(time.RFC3339) + "&to=" + to.Format(time.RFC3339)
	code, body := v.get(t, path)
	if known := regexp.MustCompile(`(?m)^2026-11-27[^,]*,0?\.\d+`).FindAllString(body, -1); code != http.StatusOK || len(known) == 0 {
		t.Errorf("the history: %s answers %d without a duplicate rate:\n%s", path, code, body)
	}
}

// followsOldLinks opens the addresses that the earlier version put into mails and chats.
func (v *visitor) followsOldLinks(t *testing.T) {
	t.Helper()
	for _, path := range []string{
		"/", "/?tier=severe", "/pipelines/orders", "/pipelines/orders?range=1h", "/pipelines/orders/markers", "/pipelines/orders/effects",
		"/pipelines/orders/dead-letters", "/dead-letters", "/lookup?id=orders-1-0000001", "/jobs", "/jobs/LZGWNEDGMMDZHG664T6ABMOE4V",
		"/operations", "/operations/C64CPMYIP3N5I3BDYZFRQ3EJYF", "/audit?operation=C64CPMYIP3N5I3BDYZFRQ3EJYF", "/alerts", "/alerts/rules",
		"/alerts/one?key=dead_letters%2Fpipeline%2Forders", "/silences", "/silences/new?pipeline=orders", "/docs", "/docs/alerts", "/account",
	} {
		code, body := v.get(t, path)
		if code != http.StatusOK {
			t.Errorf("%s answers %d: %.300s", path, code, body)
		}
	}
}

package schemes_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
	"dedup-dashboard/lab/schemes"
)

// The ways to change a marker by hand.
const (
	endless  = "without expiry"
	ending   = "ending soon"
	ended    = "gone"
	garbage  = "another value"
	expired  = "expired long ago"
	atOne    = "status 1"
	atTwo    = "status 2"
	atZero   = "status 0"
	badCount = "a counter of letters"
	wrongOne = "a value of another type"
	fewLeft  = "a counter that ends soon"
	oldTwo   = "status 2, expired long ago"
	oldZero  = "status 0, expired long ago"
)

const longID = "an id that is longer than its column"

// soon is the life that is left to a marker that ends before the messages are expected: longer than it takes to read them all.
const soon = expected * 3 / 4

func beds(t *testing.T) []*bed {
	server, rdb := markerstest.StartRedis(t)
	all := []*bed{
		redisBed(t, "R1", "redis-json-status", server.URL(), rdb, "msg:dedup:", statusScenarios()),
		redisBed(t, "R3", "redis-text-status", server.URL(), rdb, "msg:", append(statusScenarios(), countedScenarios()...)),
		redisBed(t, "R6", "redis-timestamp", server.URL(), rdb, "dedup:", presentScenarios()),
	}
	for _, driver := range markerstest.Drivers() {
		for _, scheme := range []string{"D1", "D2", "D3"} {
			all = append(all, sqlBed(t, scheme, driver))
		}
	}
	return all
}

var (
	fails = []error{errFails}
	dies  = []error{schemes.ErrDied}
	does  = []error{nil}
)

const tooOld = 25 * time.Hour

// statusScenarios are for schemes in Redis with processing and done.
func statusScenarios() []scenario {
	return []scenario{
		{name: "no marker", want: preflight.ClassRuns},
		{name: "no marker, older than the window", attempts: does, spoil: ended, age: tooOld, want: preflight.ClassMayRunTwice},
		{name: "processing", attempts: dies, want: preflight.ClassBlocks, until: true},
		{name: "processing without expiry", attempts: dies, spoil: endless, want: preflight.ClassBlocks},
		{name: "processing, ending before", attempts: dies, spoil: ending, want: preflight.ClassRuns},
		{name: "done", attempts: does, want: preflight.ClassSkipped},
		{name: "done without expiry", attempts: does, spoil: endless, want: preflight.ClassSkipped},
		{name: "done, ending before", attempts: does, spoil: ending, want: preflight.ClassMayRunTwice},
		{name: "failed once", attempts: fails, want: preflight.ClassRuns},
		{name: "another value", attempts: dies, spoil: garbage, want: preflight.ClassUnknown},
		{name: "another type", spoil: wrongOne, want: preflight.ClassUnknown},
	}
}

// countedScenarios are for retry counters that give up at five.
func countedScenarios() []scenario {
	failed := func(n int, then ...error) []error {
		var all []error
		for range n {
			all = append(all, errFails)
		}
		return append(all, then...)
	}
	return []scenario{
		{name: "failed 3 times", attempts: failed(3), want: preflight.ClassRuns},
		{name: "failed 4 times", attempts: failed(4), want: preflight.ClassLastAttempt},
		{name: "failed 5 times, given up", attempts: failed(5), want: preflight.ClassLastAttempt},
		{name: "failed 6 times", attempts: failed(6), want: preflight.ClassLastAttempt},
		{name: "failed 4 times, older than the window", attempts: failed(4), age: tooOld, want: preflight.ClassLastAttempt},
		{name: "failed 4 times, the counter ends before", attempts: failed(4), spoil: fewLeft, want: preflight.ClassRuns},
		{name: "failed 4 times and processing", attempts: failed(4, schemes.ErrDied), want: preflight.ClassBlocks, until: true},
		{name: "failed 4 times and processing, ending before", attempts: failed(4, schemes.ErrDied), spoil: ending, want: preflight.ClassLastAttempt},
		{name: "failed 4 times, then done", attempts: failed(4, nil), want: preflight.ClassSkipped},
		{name: "a counter that is none", spoil: badCount, want: preflight.ClassUnknown},
	}
}

// presentScenarios are for a marker without a state.
func presentScenarios() []scenario {
	return []scenario{
		{name: "no marker", want: preflight.ClassRuns},
		{name: "no marker, older than the window", attempts: does, spoil: ended, age: tooOld, want: preflight.ClassMayRunTwice},
		{name: "present after a crash", attempts: dies, want: preflight.ClassPerhapsSwallowed},
		{name: "present after the work", attempts: does, want: preflight.ClassPerhapsSwallowed},
		{name: "present without expiry", attempts: dies, spoil: endless, want: preflight.ClassPerhapsSwallowed},
		{name: "present, ending before", attempts: dies, spoil: ending, want: preflight.ClassMayRunTwice},
		{name: "failed once", attempts: fails, want: preflight.ClassRuns},
		{name: "another type", spoil: wrongOne, want: preflight.ClassUnknown},
	}
}

func redisBed(t *testing.T, name, preset, url string, rdb *redis.Client, prefix string, scenarios []scenario) *bed {
	w := newWorker()
	b := &bed{name: name, worker: w, scenarios: scenarios}
	cfg := markerstest.Config(t, preset, url)
	cfg.Name = strings.ToLower(name)
	b.store = markerstest.OpenStore(t, cfg)
	b.consumer = map[string]schemes.Consumer{
		"R1": schemes.R1{Redis: rdb, Work: w.work}, "R3": schemes.R3{Redis: rdb, Work: w.work}, "R6": schemes.R6{Redis: rdb, Work: w.work},
	}[name]
	b.clear = func(t *testing.T, key string) {
		if n, err := rdb.Del(t.Context(), key).Result(); err != nil || n > 1 {
			t.Fatal(n, err)
		}
	}
	b.spoil = func(t *testing.T, id, how string) {
		t.Helper()
		ctx, key := t.Context(), prefix+id
		var err error
		switch how {
		case endless:
			err = rdb.Persist(ctx, key).Err()
		case ending:
			err = rdb.PExpire(ctx, key, soon).Err()
			b.ends = append(b.ends, key)
		case fewLeft:
			err = rdb.PExpire(ctx, "retry:"+id, soon).Err()
			b.ends = append(b.ends, "retry:"+id)
		case ended:
			err = rdb.Del(ctx, key).Err()
		case garbage:
			err = rdb.Set(ctx, key, "<perdu>", time.Hour).Err()
		case wrongOne:
			err = rdb.RPush(ctx, key, "a").Err()
		case badCount:
			err = rdb.Set(ctx, "retry:"+id, "many", time.Hour).Err()
		default:
			t.Fatal(how)
		}
		must(t, err)
	}
	return b
}

// sqlTables are the tables of the schemes by driver.
var sqlTables = map[string]map[string]string{
	"D1": {
		"mysql": `CREATE TABLE message_dedup (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, business_key VARCHAR(128),
			status TINYINT DEFAULT 0, result TEXT, created_at DATETIME DEFAULT CURRENT_TIMESTAMP, updated_at DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)`,
		"postgres": `CREATE TABLE message_dedup (id BIGSERIAL PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, business_key VARCHAR(128),
			status SMALLINT DEFAULT 0, result TEXT, created_at TIMESTAMP DEFAULT now(), updated_at TIMESTAMP DEFAULT now())`,
	},
	"D2": {
		"mysql": `CREATE TABLE message_process_log (message_id VARCHAR(64) PRIMARY KEY, business_key VARCHAR(128) NOT NULL, process_status TINYINT NOT NULL,
			process_time TIMESTAMP DEFAULT CURRENT_TIMESTAMP, expire_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)`,
		"postgres": `CREATE TABLE message_process_log (message_id VARCHAR(64) PRIMARY KEY, business_key VARCHAR(128) NOT NULL, process_status SMALLINT NOT NULL,
			process_time TIMESTAMPTZ DEFAULT now(), expire_time TIMESTAMPTZ NOT NULL)`,
	},
	"D3": {
		"mysql": `CREATE TABLE consumed_messages (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, biz_id VARCHAR(64),
			status VARCHAR(16) NOT NULL, create_time DATETIME(3) NOT NULL)`,
		"postgres": `CREATE TABLE consumed_messages (id BIGSERIAL PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, biz_id VARCHAR(64),
			status VARCHAR(16) NOT NULL, create_time TIMESTAMP(3) NOT NULL)`,
	},
}

func sqlBed(t *testing.T, scheme, driver string) *bed {
	db := sqlServers.Database(t, driver)
	db.Exec(t, sqlTables[scheme][driver])
	w := newWorker()
	b := &bed{name: scheme + " " + driver, worker: w, scenarios: sqlScenarios(scheme, driver)}
	cfg, ok := markers.Preset(map[string]string{"D1": "sql-status-code", "D2": "sql-status-code", "D3": "sql-status-name"}[scheme])
	if !ok {
		t.Fatal("no preset")
	}
	cfg.Name, cfg.SQL = strings.ToLower(scheme), markers.SQL{Driver: driver, DSN: secret.New(db.AdminDSN())}
	id, name, status := "id", "message_dedup", "status"
	on := schemes.Table{DB: db.Admin, Postgres: driver == "postgres"}
	switch scheme {
	case "D1":
		b.consumer = schemes.D1{Table: on, Work: w.work}
	case "D2":
		b.consumer, id, name, status = schemes.D2{Table: on, Work: w.work}, "message_id", "message_process_log", "process_status"
		cfg.Table, cfg.Transactional, cfg.TTL.Done = name, true, 24*time.Hour
		cfg.Columns = markers.Columns{ID: markers.ColumnList{"message_id"}, BusinessKey: "business_key", Status: status, Created: "process_time", Expires: "expire_time"}
	case "D3":
		b.consumer, name = schemes.D3{Table: on, Work: w.work}, "consumed_messages"
	}
	b.store = markerstest.OpenStore(t, cfg)
	b.clear = func(t *testing.T, key string) {
		db.Exec(t, fmt.Sprintf("DELETE FROM %s WHERE %s = '%s'", name, id, key))
	}
	b.spoil = func(t *testing.T, worked, how string) {
		t.Helper()
		where := fmt.Sprintf(" WHERE message_id = '%s'", worked)
		insert := "INSERT INTO message_process_log (message_id, business_key, process_status, expire_time) VALUES ('" + worked + "', 'order:1', %d, %s)"
		switch how {
		case garbage:
			db.Exec(t, "UPDATE "+name+" SET "+status+" = "+map[bool]string{true: "'LOST'", false: "9"}[scheme == "D3"]+where)
		case ended:
			db.Exec(t, "DELETE FROM "+name+where)
		case expired:
			db.Exec(t, "UPDATE message_process_log SET expire_time = '2026-01-01 00:00:00'"+where)
		case atZero:
			db.Exec(t, fmt.Sprintf(insert, 0, "'2036-01-01 00:00:00'"))
		case atTwo:
			db.Exec(t, fmt.Sprintf(insert, 2, "'2036-01-01 00:00:00'"))
		case oldZero:
			db.Exec(t, fmt.Sprintf(insert, 0, "'2026-01-01 00:00:00'"))
		case oldTwo:
			db.Exec(t, fmt.Sprintf(insert, 2, "'2026-01-01 00:00:00'"))
		default:
			t.Fatal(how)
		}
	}
	return b
}

func sqlScenarios(scheme, driver string) []scenario {
	free := preflight.ClassRuns
	if scheme == "D1" {
		free = preflight.ClassLastAttempt
	}
	otherCase := free
	if driver == "mysql" {
		otherCase = preflight.ClassSwallowed // the row is that of another message
	}
	all := []scenario{
		{name: "no row", want: free},
		{name: "done", attempts: does, want: preflight.ClassSkipped},
		{name: "done under an id in capitals", attempts: does, as: strings.ToUpper, want: otherCase},
		{name: "another status", attempts: does, spoil: garbage, want: preflight.ClassUnknown},
		{name: longID, as: func(id string) string { return id + strings.Repeat("x", 65-len(id)) }, want: preflight.ClassUnknown},
	}
	if scheme == "D2" {
		return append(all,
			scenario{name: "no row, older than the window", attempts: does, spoil: ended, age: tooOld, want: preflight.ClassMayRunTwice},
			scenario{name: "failed and rolled back", attempts: fails, want: preflight.ClassRuns},
			scenario{name: "killed and rolled back", attempts: dies, want: preflight.ClassRuns},
			scenario{name: "a processing row that should not show", spoil: atZero, want: preflight.ClassSwallowed},
			scenario{name: "a failed row that should not show", spoil: atTwo, want: preflight.ClassSwallowed},
			scenario{name: "done, the row has expired", attempts: does, spoil: expired, want: preflight.ClassMayRunTwice},
			scenario{name: "processing, the row has expired", spoil: oldZero, want: preflight.ClassSwallowed},
			scenario{name: "failed, the row has expired", spoil: oldTwo, want: preflight.ClassSwallowed})
	}
	return append(all,
		scenario{name: "no row, old", attempts: nil, age: tooOld, want: free},
		scenario{name: "processing", attempts: dies, want: preflight.ClassSwallowed},
		scenario{name: "failed", attempts: fails, want: preflight.ClassSwallowed})
}

package sql_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

// sqlRowCase is one scheme as consumers write it: the table with its exact names and types, rows, and what must be read.
type sqlRowCase struct {
	name   string
	preset string
	// adapt lays over the preset what a configuration of this scheme must say.
	adapt func(*markers.Config)
	// ddl is by driver; where both are the same, under any.
	ddl map[string]string
	// rows are INSERT statements, in which AGO(n) and IN(n) stand for n seconds before and after the server's now.
	rows []string
	want []wantedMarker
	// blind says that the scheme must say that no stuck marker proves nothing.
	blind bool
}

// wantedMarker is a marker as it must be read. A negative age or expiry is none.
type wantedMarker struct {
	id, business string
	state        dedup.State
	status       string
	age, expires int
}

const (
	anyDriver = "any"
	none      = -1
)

func sqlRowCases() []sqlRowCase {
	processing, done, failed, unknown := dedup.Processing, dedup.Done, dedup.Failed, dedup.StateUnknown
	return []sqlRowCase{
		{name: "D1 message_dedup", preset: "sql-status-code",
			ddl: map[string]string{
				"mysql": `CREATE TABLE message_dedup (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE,
					business_key VARCHAR(128), status TINYINT DEFAULT 0, result TEXT, created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
					updated_at DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, INDEX idx_message_id (message_id), INDEX idx_created_at (created_at))`,
				"postgres": `CREATE TABLE message_dedup (id BIGSERIAL PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, business_key VARCHAR(128),
					status SMALLINT DEFAULT 0, result TEXT, created_at TIMESTAMP DEFAULT now(), updated_at TIMESTAMP DEFAULT now())`,
			},
			rows: []string{
				`INSERT INTO message_dedup (message_id, business_key, status, created_at, updated_at) VALUES ('m-1', 'order:10010', 0, AGO(900), AGO(900))`,
				`INSERT INTO message_dedup (message_id, business_key, status, result, created_at, updated_at) VALUES ('m-2', 'order:10011', 1, '{"ok": true}', AGO(61), AGO(60))`,
				`INSERT INTO message_dedup (message_id, business_key, status, result, created_at, updated_at) VALUES ('m-3', NULL, 2, 'Deadlock found', AGO(300), AGO(290))`,
				`INSERT INTO message_dedup (message_id, status, created_at, updated_at) VALUES ('m-4', 9, AGO(5), AGO(5))`,
				`INSERT INTO message_dedup (message_id, status, created_at, updated_at) VALUES ('m-5', NULL, AGO(5), AGO(5))`,
			},
			want: []wantedMarker{
				{"m-1", "order:10010", processing, "0", 900, none}, {"m-2", "order:10011", done, "1", 60, none}, {"m-3", "", failed, "2", 290, none},
				{"m-4", "", unknown, "9", 5, none}, {"m-5", "", unknown, "", 5, none},
			}},
		{name: "D2 message_process_log", preset: "sql-status-code", blind: true,
			adapt: func(c *markers.Config) {
				c.Table, c.Transactional = "message_process_log", true
				c.Columns = markers.Columns{ID: markers.ColumnList{"message_id"}, BusinessKey: "business_key", Status: "process_status", Created: "process_time", Expires: "expire_time"}
				c.TTL.Done = 24 * time.Hour
			},
			ddl: map[string]string{
				"mysql": `CREATE TABLE message_process_log (message_id VARCHAR(64) PRIMARY KEY, business_key VARCHAR(128) NOT NULL, process_status TINYINT NOT NULL,
					process_time TIMESTAMP DEFAULT CURRENT_TIMESTAMP, expire_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, INDEX idx_expire_time (expire_time), INDEX idx_business_key (business_key))`,
				"postgres": `CREATE TABLE message_process_log (message_id VARCHAR(64) PRIMARY KEY, business_key VARCHAR(128) NOT NULL, process_status SMALLINT NOT NULL,
					process_time TIMESTAMPTZ DEFAULT now(), expire_time TIMESTAMPTZ NOT NULL)`,
			},
			rows: []string{
				`INSERT INTO message_process_log VALUES ('a-1', 'pay:1', 1, AGO(120), IN(86280))`,
				`INSERT INTO message_process_log VALUES ('b-0', 'pay:2', 0, AGO(600), IN(85800))`,
				`INSERT INTO message_process_log VALUES ('c-2', 'pay:3', 2, AGO(90000), AGO(3600))`,
			},
			want: []wantedMarker{{"a-1", "pay:1", done, "1", 120, 86280}, {"b-0", "pay:2", processing, "0", 600, 85800}, {"c-2", "pay:3", failed, "2", 90000, -3600}}},
		{name: "D3 consumed_messages", preset: "sql-status-name",
			ddl: map[string]string{
				"mysql": `CREATE TABLE consumed_messages (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) NOT NULL, biz_id VARCHAR(64),
					status VARCHAR(16) NOT NULL, create_time DATETIME(3) NOT NULL, UNIQUE KEY uk_message_id (message_id))`,
				"postgres": `CREATE TABLE consumed_messages (id BIGSERIAL PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, biz_id VARCHAR(64),
					status VARCHAR(16) NOT NULL, create_time TIMESTAMP(3) NOT NULL)`,
			},
			rows: []string{
				`INSERT INTO consumed_messages (message_id, biz_id, status, create_time) VALUES ('x1', '77', 'PROCESSING', AGO(45))`,
				`INSERT INTO consumed_messages (message_id, biz_id, status, create_time) VALUES ('x2', '78', 'SUCCESS', AGO(44))`,
				`INSERT INTO consumed_messages (message_id, biz_id, status, create_time) VALUES ('x3', '79', 'FAILED', AGO(43))`,
			},
			want: []wantedMarker{{"x1", "77", processing, "PROCESSING", 45, none}, {"x2", "78", done, "SUCCESS", 44, none}, {"x3", "79", failed, "FAILED", 43, none}}},
		{name: "D4 t_points", preset: "sql-unique-row", blind: true,
			ddl: map[string]string{
				"mysql": `CREATE TABLE t_points (id BIGINT PRIMARY KEY, user_id BIGINT, order_id BIGINT, points INT, remarks VARCHAR(128), create_time DATETIME,
					UNIQUE KEY unique_order_Id (order_id))`,
				"postgres": `CREATE TABLE t_points (id BIGINT PRIMARY KEY, user_id BIGINT, order_id BIGINT UNIQUE, points INT, remarks VARCHAR(128), create_time TIMESTAMP)`,
			},
			rows: []string{`INSERT INTO t_points VALUES (1189346987123712, 5, 9007199254740993, 10, '下单送积分', AGO(30))`},
			want: []wantedMarker{{"9007199254740993", "", done, "", 30, none}}},
		{name: "D5 orders.idempotency_key", preset: "sql-unique-row", blind: true,
			adapt: func(c *markers.Config) {
				c.Table, c.Columns = "orders", markers.Columns{ID: markers.ColumnList{"idempotency_key"}, BusinessKey: "user_id", AutoIncrement: "order_id"}
			},
			ddl: map[string]string{
				"mysql":    `CREATE TABLE orders (order_id BIGINT AUTO_INCREMENT PRIMARY KEY, idempotency_key VARCHAR(64) UNIQUE, user_id BIGINT, product_id BIGINT, amount DECIMAL(10,2), status VARCHAR(16))`,
				"postgres": `CREATE TABLE orders (order_id BIGSERIAL PRIMARY KEY, idempotency_key VARCHAR(64) UNIQUE, user_id BIGINT, product_id BIGINT, amount DECIMAL(10,2), status VARCHAR(16))`,
			},
			rows: []string{
				`INSERT INTO orders (idempotency_key, user_id, product_id, amount, status) VALUES ('req-1', 42, 1, 99.90, 'created')`,
				`INSERT INTO orders (idempotency_key, user_id, product_id, amount, status) VALUES (NULL, 42, 1, 99.90, 'created')`,
				`INSERT INTO orders (idempotency_key, user_id, product_id, amount, status) VALUES (NULL, 42, 1, 99.90, 'created')`,
			},
			want: []wantedMarker{{"req-1", "42", done, "", none, none}}},
		{name: "D6 payments", preset: "sql-unique-row", blind: true,
			adapt: func(c *markers.Config) {
				c.Table, c.Columns = "payment_record", markers.Columns{ID: markers.ColumnList{"payment_id"}, BusinessKey: "order_id", Created: "created_at"}
			},
			ddl: map[string]string{
				"mysql":    `CREATE TABLE payment_record (payment_id CHAR(36) PRIMARY KEY, order_id BIGINT NOT NULL, amount DECIMAL(12,2), created_at DATETIME(6) NOT NULL)`,
				"postgres": `CREATE TABLE payment_record (payment_id UUID PRIMARY KEY, order_id BIGINT NOT NULL, amount DECIMAL(12,2), created_at TIMESTAMPTZ NOT NULL)`,
			},
			rows: []string{`INSERT INTO payment_record VALUES ('6f9619ff-8b86-d011-b42d-00c04fc964ff', 10010, 12.50, AGO(10))`},
			want: []wantedMarker{{"6f9619ff-8b86-d011-b42d-00c04fc964ff", "10010", done, "", 10, none}}},
		{name: "D7 orders", preset: "sql-status-name",
			adapt: func(c *markers.Config) {
				c.Table, c.OnInFlight = "orders", "nack"
				c.Columns = markers.Columns{ID: markers.ColumnList{"order_no"}, Status: "status"}
			},
			ddl: map[string]string{anyDriver: `CREATE TABLE orders (order_no VARCHAR(32) NOT NULL UNIQUE, status VARCHAR(20) NOT NULL, amount DECIMAL(10,2))`},
			rows: []string{
				`INSERT INTO orders VALUES ('NO-1', 'PROCESSING', 10.00)`, `INSERT INTO orders VALUES ('NO-2', 'SUCCESS', 20.00)`, `INSERT INTO orders VALUES ('NO-3', 'success', 20.00)`,
			},
			want: []wantedMarker{{"NO-1", "", processing, "PROCESSING", none, none}, {"NO-2", "", done, "SUCCESS", none, none}, {"NO-3", "", unknown, "success", none, none}}},
		{name: "D8 InventoryLog", preset: "sql-status-name",
			adapt: func(c *markers.Config) {
				c.Table, c.OnInFlight = "InventoryLog", "nack"
				c.Columns = markers.Columns{ID: markers.ColumnList{"order_no", "product_id"}, BusinessKey: "order_no", Status: "status"}
			},
			ddl: map[string]string{
				"mysql":    `CREATE TABLE InventoryLog (id BIGINT AUTO_INCREMENT PRIMARY KEY, order_no VARCHAR(32) NOT NULL, product_id BIGINT NOT NULL, quantity INT, status VARCHAR(20), UNIQUE KEY uk (order_no, product_id))`,
				"postgres": `CREATE TABLE InventoryLog (id BIGSERIAL PRIMARY KEY, order_no VARCHAR(32) NOT NULL, product_id BIGINT NOT NULL, quantity INT, status VARCHAR(20), UNIQUE (order_no, product_id))`,
			},
			rows: []string{
				`INSERT INTO InventoryLog (order_no, product_id, quantity, status) VALUES ('NO-1', 7, 1, 'PROCESSING')`,
				`INSERT INTO InventoryLog (order_no, product_id, quantity, status) VALUES ('NO-1', 8, 2, 'SUCCESS')`,
				`INSERT INTO InventoryLog (order_no, product_id, quantity, status) VALUES ('NO-2', 7, 3, 'FAILED')`,
			},
			want: []wantedMarker{{"NO-1:7", "NO-1", processing, "PROCESSING", none, none}, {"NO-1:8", "NO-1", done, "SUCCESS", none, none}, {"NO-2:7", "NO-2", failed, "FAILED", none, none}}},
		{name: "B1 orders by version", preset: "sql-state-machine",
			adapt: func(c *markers.Config) {
				c.Terminal = []string{"completed", "cancelled"}
				c.Transitions = map[string][]string{"created": {"paid", "cancelled"}, "paid": {"shipped", "cancelled"}, "shipped": {"completed"}}
			},
			ddl: map[string]string{
				"mysql":    `CREATE TABLE orders (order_id BIGINT PRIMARY KEY, status VARCHAR(20) NOT NULL, version INT NOT NULL DEFAULT 0, updated_at DATETIME NOT NULL)`,
				"postgres": `CREATE TABLE orders (order_id BIGINT PRIMARY KEY, status VARCHAR(20) NOT NULL, version INT NOT NULL DEFAULT 0, updated_at TIMESTAMP NOT NULL)`,
			},
			rows: []string{
				`INSERT INTO orders VALUES (1, 'paid', 1, AGO(7200))`, `INSERT INTO orders VALUES (2, 'completed', 3, AGO(60))`,
				`INSERT INTO orders VALUES (3, 'cancelled', 1, AGO(61))`, `INSERT INTO orders VALUES (4, 'lost', 1, AGO(62))`,
			},
			want: []wantedMarker{{"1", "", processing, "paid", 7200, none}, {"2", "", done, "completed", 60, none}, {"3", "", done, "cancelled", 61, none}, {"4", "", unknown, "lost", 62, none}}},
		{name: "B2 a ride's steps", preset: "sql-state-machine",
			adapt: func(c *markers.Config) {
				c.Table, c.Columns = "t_ride", markers.Columns{ID: markers.ColumnList{"id"}, Status: "status", Updated: "update_time"}
				c.Terminal = []string{"已到达"}
				c.Transitions = map[string][]string{"创建": {"已分配司机"}, "已分配司机": {"司机已出发"}, "司机已出发": {"司机已到达"}, "司机已到达": {"司机已接到乘客"}, "司机已接到乘客": {"已到达"}}
			},
			ddl: map[string]string{
				"mysql":    `CREATE TABLE t_ride (id BIGINT PRIMARY KEY, status VARCHAR(32) NOT NULL, update_time DATETIME NOT NULL)`,
				"postgres": `CREATE TABLE t_ride (id BIGINT PRIMARY KEY, status VARCHAR(32) NOT NULL, update_time TIMESTAMP NOT NULL)`,
			},
			rows: []string{`INSERT INTO t_ride VALUES (8, '司机已出发', AGO(1800))`, `INSERT INTO t_ride VALUES (9, '已到达', AGO(20))`},
			want: []wantedMarker{{"8", "", processing, "司机已出发", 1800, none}, {"9", "", done, "已到达", 20, none}}},
		{name: "B3 order_no", preset: "sql-state-machine",
			adapt: func(c *markers.Config) {
				c.Columns = markers.Columns{ID: markers.ColumnList{"order_no"}, Status: "status"}
				c.Terminal = []string{"COMPLETED", "CANCELLED", "REFUNDED"}
				c.Transitions = map[string][]string{"CREATED": {"PAID", "CANCELLED"}, "PAID": {"SHIPPED", "REFUNDED"}, "SHIPPED": {"DELIVERED"}, "DELIVERED": {"COMPLETED"}}
			},
			ddl:  map[string]string{anyDriver: `CREATE TABLE orders (order_no VARCHAR(32) PRIMARY KEY, status VARCHAR(20) NOT NULL)`},
			rows: []string{`INSERT INTO orders VALUES ('A', 'DELIVERED')`, `INSERT INTO orders VALUES ('B', 'REFUNDED')`, `INSERT INTO orders VALUES ('C', 'CREATED')`},
			want: []wantedMarker{{"A", "", processing, "DELIVERED", none, none}, {"B", "", done, "REFUNDED", none, none}, {"C", "", processing, "CREATED", none, none}}},
		{name: "B4 UNPAID to PAID", preset: "sql-state-machine",
			adapt: func(c *markers.Config) {
				c.Columns = markers.Columns{ID: markers.ColumnList{"id"}, BusinessKey: "payment_id", Status: "status", Updated: "updated_at"}
				c.Terminal, c.Transitions = []string{"PAID"}, map[string][]string{"UNPAID": {"PAID"}}
			},
			ddl: map[string]string{
				"mysql":    `CREATE TABLE orders (id BIGINT PRIMARY KEY, payment_id VARCHAR(64), status ENUM('UNPAID','PAID') NOT NULL, updated_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6))`,
				"postgres": `CREATE TYPE pay AS ENUM ('UNPAID', 'PAID'); CREATE TABLE orders (id BIGINT PRIMARY KEY, payment_id VARCHAR(64), status pay NOT NULL, updated_at TIMESTAMPTZ NOT NULL)`,
			},
			rows: []string{`INSERT INTO orders VALUES (1, 'pay-1', 'UNPAID', AGO(3600))`, `INSERT INTO orders VALUES (2, 'pay-2', 'PAID', AGO(1))`},
			want: []wantedMarker{{"1", "pay-1", processing, "UNPAID", 3600, none}, {"2", "pay-2", done, "PAID", 1, none}}},
		{name: "B5 t_order by version", preset: "sql-unique-row", blind: true,
			adapt: func(c *markers.Config) {
				c.Table, c.Columns = "t_order", markers.Columns{ID: markers.ColumnList{"id"}}
			},
			ddl:  map[string]string{anyDriver: `CREATE TABLE t_order (id BIGINT PRIMARY KEY, status VARCHAR(8), version INT NOT NULL)`},
			rows: []string{`INSERT INTO t_order VALUES (1, '1', 5)`},
			want: []wantedMarker{{"1", "", done, "", none, none}}},
		{name: "B6 t_order locked", preset: "sql-state-machine",
			adapt: func(c *markers.Config) {
				c.Table, c.Columns = "t_order", markers.Columns{ID: markers.ColumnList{"id"}, Status: "status"}
				c.Terminal, c.Transitions = []string{"3"}, map[string][]string{"1": {"2"}, "2": {"3"}}
			},
			ddl:  map[string]string{anyDriver: `CREATE TABLE t_order (id BIGINT PRIMARY KEY, status VARCHAR(8) NOT NULL)`},
			rows: []string{`INSERT INTO t_order VALUES (1, '2')`, `INSERT INTO t_order VALUES (2, '3')`},
			want: []wantedMarker{{"1", "", processing, "2", none, none}, {"2", "", done, "3", none, none}}},
	}
}

func TestEveryRow(t *testing.T) {
	for _, driver := range markerstest.Drivers() {
		t.Run(markerstest.DriverName(driver), func(t *testing.T) {
			for _, c := range sqlRowCases() {
				t.Run(c.name, func(t *testing.T) { c.run(t, driver) })
			}
		})
	}
}

func (c sqlRowCase) run(t *testing.T, driver string) {
	db := sqlServers.Database(t, driver)
	ddl := c.ddl[driver]
	if ddl == "" {
		ddl = c.ddl[anyDriver]
	}
	for _, statement := range strings.Split(ddl, ";") {
		db.Exec(t, statement)
	}
	for _, row := range c.rows {
		db.Exec(t, moments(driver, row))
	}
	store := openTable(t, db, c.preset, c.adapt)
	pass := markerstest.MustPass(t, store)
	c.checkPass(t, pass)
	if blind := store.Scheme().Blind; (blind != "") != c.blind {
		t.Errorf("blind is %q", blind)
	}
	page, err := store.(markers.Reader).Browse(t.Context(), dedup.MarkerQuery{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	if page.Next != "" || len(page.Markers) != len(c.want) {
		t.Fatalf("page of %d markers, next %q", len(page.Markers), page.Next)
	}
	for i, m := range page.Markers {
		c.want[i].check(t, m, pass.ClockOffset)
		t.Logf("%-28s %-10s %-16q business %-14q since %s expires %s", m.ID, m.State, m.Status, m.BusinessKey, shown(m.Since), shown(m.Expires))
		c.lookUp(t, store.(markers.Reader), m)
	}
}

func (c sqlRowCase) checkPass(t *testing.T, pass dedup.Pass) {
	states := map[dedup.State]int64{}
	for _, w := range c.want {
		states[w.state]++
	}
	markerstest.WantStates(t, pass, states)
	if pass.Examined != int64(len(c.rows)) {
		t.Errorf("examined %d of %d rows", pass.Examined, len(c.rows))
	}
	if len(pass.OldestProcessing) != int(states[dedup.Processing]) || len(pass.FailedMarkers) != int(states[dedup.Failed]) || len(pass.Undecodable) != int(states[dedup.StateUnknown]) {
		t.Errorf("listed %d processing, %d failed, %d undecodable", len(pass.OldestProcessing), len(pass.FailedMarkers), len(pass.Undecodable))
	}
	for _, m := range slices.Concat(pass.OldestProcessing, pass.FailedMarkers) {
		i := slices.IndexFunc(c.want, func(w wantedMarker) bool { return w.id == m.ID })
		if i < 0 || m.FirstSeen.IsZero() {
			t.Errorf("listed %+v", m)
			continue
		}
		c.want[i].check(t, m, pass.ClockOffset)
	}
}

// lookUp reads the marker again by its key and by its id.
func (c sqlRowCase) lookUp(t *testing.T, reader markers.Reader, m dedup.Marker) {
	t.Helper()
	found, err := reader.Look(t.Context(), []string{m.Key, "no-such-key"})
	if err != nil || len(found) != 2 || found[0] == nil || found[1] != nil || found[0].ID != m.ID || found[0].State != m.State || !found[0].Since.Equal(m.Since) {
		t.Fatalf("look at %q: %v, %v", m.Key, found, err)
	}
	byID, err := reader.Lookup(t.Context(), m.ID)
	if err != nil || len(byID) != 1 || byID[0].Key != m.Key || string(byID[0].Value) != string(found[0].Value) {
		t.Errorf("lookup of %q: %v, %v", m.ID, byID, err)
	}
}

func (w wantedMarker) check(t *testing.T, m dedup.Marker, offset time.Duration) {
	t.Helper()
	if m.ID != w.id || m.State != w.state || m.Status != w.status || m.BusinessKey != w.business || m.Store != "shop" {
		t.Errorf("read %+v, want %+v", m, w)
	}
	if (m.State == dedup.StateUnknown) != (m.Detail != "") {
		t.Errorf("marker %s is %s because %q", m.ID, m.State, m.Detail)
	}
	now := time.Now().Add(offset)
	near(t, m.ID+" since", m.Since, w.age != none, now.Add(-time.Duration(w.age)*time.Second))
	near(t, m.ID+" expires", m.Expires, w.expires != none, now.Add(time.Duration(w.expires)*time.Second))
}

func near(t *testing.T, what string, got time.Time, some bool, want time.Time) {
	t.Helper()
	switch {
	case got.IsZero() == some:
		t.Errorf("%s is %v, want one: %v", what, got, some)
	case some && got.Sub(want).Abs() > time.Minute:
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func shown(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.UTC().Format(time.RFC3339Nano)
}

var moment = regexp.MustCompile(`(AGO|IN)\((\d+)\)`)

// moments writes AGO(n) and IN(n) in the words of the driver.
func moments(driver, statement string) string {
	return moment.ReplaceAllStringFunc(statement, func(found string) string {
		m := moment.FindStringSubmatch(found)
		sign := "-"
		if m[1] == "IN" {
			sign = "+"
		}
		if driver == "mysql" {
			return fmt.Sprintf("NOW() %s INTERVAL %s SECOND", sign, m[2])
		}
		return fmt.Sprintf("now() %s interval '%s seconds'", sign, m[2])
	})
}

// openTable opens a store named shop of the preset over the database, with the administrator's account.
func openTable(t testing.TB, db *markerstest.Database, preset string, adapt func(*markers.Config)) markers.Store {
	t.Helper()
	return markerstest.OpenStore(t, tableConfig(t, db, preset, adapt))
}

func tableConfig(t testing.TB, db *markerstest.Database, preset string, adapt func(*markers.Config)) markers.Config {
	t.Helper()
	cfg, ok := markers.Preset(preset)
	if !ok {
		t.Fatalf("no preset %s", preset)
	}
	cfg.Name = "shop"
	cfg.SQL = markers.SQL{Driver: db.Driver, DSN: secret.New(db.AdminDSN())}
	if adapt != nil {
		adapt(&cfg)
	}
	return markerstest.Unthrottled(cfg)
}

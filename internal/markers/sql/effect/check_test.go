package effect_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/sql/effect"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

const doubles = "SELECT order_no, COUNT(*) AS n FROM orders GROUP BY order_no HAVING COUNT(*) > 1 ORDER BY order_no"

// orders makes a table of orders.
func orders(t *testing.T, d *markerstest.Database, numbers ...string) {
	t.Helper()
	text := "VARCHAR(200)"
	if d.Driver == "mysql" {
		text += " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
	}
	d.Exec(t, "CREATE TABLE orders (id INT PRIMARY KEY, order_no "+text+", amount INT)")
	for i, n := range numbers {
		place := "($1, $2, 7)"
		if d.Driver == "mysql" {
			place = "(?, ?, 7)"
		}
		if _, err := d.Admin.ExecContext(t.Context(), "INSERT INTO orders VALUES "+place, i, n); err != nil {
			t.Fatal(err)
		}
	}
}

func openEffects(t *testing.T, d *markerstest.Database, query string, change func(*effect.Config)) *effect.Checker {
	t.Helper()
	cfg := effect.Config{Pipeline: "orders", SQL: markers.SQL{Driver: d.Driver, DSN: secret.New(d.AdminDSN())}, Query: query}
	if change != nil {
		change(&cfg)
	}
	check, err := effect.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = check.Close() })
	return check
}

func checked(t *testing.T, check *effect.Checker) dedup.EffectReading {
	t.Helper()
	r, err := check.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.At.IsZero() || r.Took <= 0 {
		t.Errorf("a reading without its time: %+v", r)
	}
	return r
}

// keysOf writes keys as in "a×2 b×3".
func keysOf(r dedup.EffectReading) string {
	var words []string
	for _, k := range r.Keys {
		words = append(words, fmt.Sprintf("%s×%d", k.Key, k.Count))
	}
	return strings.Join(words, " ")
}

// inDatabase runs a test on MariaDB and on PostgreSQL.
func inDatabase(t *testing.T, test func(t *testing.T, d *markerstest.Database)) {
	for _, driver := range markerstest.Drivers() {
		t.Run(markerstest.DriverName(driver), func(t *testing.T) { test(t, sqlServers.Database(t, driver)) })
	}
}

func TestAnEffectCheckFindsWhatWasDoneTwice(t *testing.T) {
	inDatabase(t, func(t *testing.T, d *markerstest.Database) {
		orders(t, d, "a", "b", "b", "c", "d", "d", "d")
		for name, tt := range map[string]struct{ query, want string }{
			"with a count":                     {doubles, "b×2 d×3"},
			"without one":                      {"SELECT order_no FROM orders GROUP BY order_no HAVING COUNT(*) > 1 ORDER BY 1;", "b×2 d×2"},
			"with a count that has no name":    {"SELECT order_no, 'x', COUNT(*) + 0 FROM orders GROUP BY order_no HAVING COUNT(*) > 1 ORDER BY 1", "b×2 d×3"},
			"with a sum":                       {"SELECT order_no, SUM(1) AS copies FROM orders GROUP BY order_no HAVING COUNT(*) > 1 ORDER BY 1", "b×2 d×3"},
			"with numbers beside":              {"SELECT order_no, COUNT(*) AS n, MAX(amount) FROM orders GROUP BY order_no HAVING COUNT(*) > 1 ORDER BY 1", "b×2 d×3"},
			"in two rows":                      {"SELECT 'k', 2 AS n UNION ALL SELECT 'k', 3", "k×5"},
			"by a number":                      {"SELECT 17, 2 AS n", "17×2"},
			"with a common table expression":   {"WITH o AS (SELECT order_no FROM orders) " + strings.Replace(doubles, "orders", "o", 1), "b×2 d×3"},
			"nothing":                          {strings.Replace(doubles, "> 1", "> 9", 1), ""},
			"rows of one are no double effect": {"SELECT order_no, COUNT(*) AS n FROM orders GROUP BY order_no ORDER BY 1", "b×2 d×3"},
		} {
			r := checked(t, openEffects(t, d, tt.query, nil))
			if got := keysOf(r); got != tt.want || r.More || r.NullRows != 0 || (r.SingleRows != 0) != strings.HasPrefix(name, "rows of one") {
				t.Errorf("%s: %q, want %q: %+v", name, got, tt.want, r)
			}
		}
	})
}

func TestAnEffectCheckTakesWhateverAKeyHolds(t *testing.T) {
	inDatabase(t, func(t *testing.T, d *markerstest.Database) {
		evil := "=1+1\"><script>\u202e\x1b[31m"
		orders(t, d, evil, evil, "A", "a")
		d.Exec(t, "INSERT INTO orders VALUES (90, NULL, 7), (91, NULL, 7), (92, '', 7), (93, '', 7)")
		r := checked(t, openEffects(t, d, doubles, nil))
		if got := keysOf(r); got != "×2 "+evil+"×2" || r.NullRows != 1 {
			t.Errorf("%q, %d without a key", got, r.NullRows)
		}
		long := "SELECT REPEAT('x', 1000000), 2 AS n UNION ALL SELECT CONCAT(REPEAT('x', 1000000), 'y'), 2 UNION ALL SELECT REPEAT('é', 129), 2"
		r = checked(t, openEffects(t, d, long, nil))
		if len(r.Keys) != 3 || r.Keys[0].ID == r.Keys[1].ID {
			t.Fatalf("%d keys of 1 MB that differ at their end", len(r.Keys))
		}
		for _, k := range r.Keys {
			if len(k.Key) > 260 || !strings.HasSuffix(k.Key, "…") || strings.Contains(k.Key, "\uFFFD") {
				t.Errorf("a key of %d bytes: %.20q", len(k.Key), k.Key)
			}
		}
	})
}

func TestAnEffectCheckIsCutAtItsRows(t *testing.T) {
	inDatabase(t, func(t *testing.T, d *markerstest.Database) {
		// 10^5 rows, and a limit of its own that is higher than ours.
		many := "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < 100000) SELECT i, 2 AS n FROM k"
		for _, query := range []string{many, many + " LIMIT 90000"} {
			check := openEffects(t, d, query, nil)
			if d.Driver == "mysql" {
				var version string
				if err := d.Admin.QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&version); err != nil {
					t.Fatal(err)
				}
				limit := "cte_max_recursion_depth"
				if strings.Contains(version, "MariaDB") {
					limit = "max_recursive_iterations"
				}
				d.Exec(t, "SET GLOBAL "+limit+" = 200000")
			}
			started := time.Now()
			r := checked(t, check)
			if len(r.Keys) != 1000 || !r.More || r.Keys[999].Key != "1000" {
				t.Errorf("%d keys, more is %v", len(r.Keys), r.More)
			}
			if took := time.Since(started); took > 40*time.Second {
				t.Errorf("it took %s", took)
			}
		}
		exact := checked(t, openEffects(t, d, "SELECT 'a' UNION SELECT 'b'", func(c *effect.Config) { c.MaxRows = 2 }))
		if len(exact.Keys) != 2 || exact.More {
			t.Errorf("as many rows as are read: %+v", exact)
		}
	})
}

func TestAnEffectCheckCannotWrite(t *testing.T) {
	inDatabase(t, func(t *testing.T, d *markerstest.Database) {
		orders(t, d, "a")
		// A function that writes passes the look at the query: the transaction stops it.
		writes := map[string]string{
			"mysql":    "CREATE FUNCTION note() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO orders VALUES (77, 'x', 1); RETURN 2; END",
			"postgres": "CREATE FUNCTION note() RETURNS int LANGUAGE sql AS $$ INSERT INTO orders VALUES (77, 'x', 1); SELECT 2 $$",
		}
		if d.Driver == "mysql" {
			d.Exec(t, "SET GLOBAL log_bin_trust_function_creators = 1")
		}
		d.Exec(t, writes[d.Driver])
		_, err := openEffects(t, d, "SELECT order_no, note() FROM orders", nil).Check(t.Context())
		if err == nil || !strings.Contains(dedup.PublicText(err), "refused the effect check because it writes") {
			t.Errorf("a query that writes: %v", err)
		}
		var n int
		if err := d.Admin.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM orders").Scan(&n); err != nil || n != 1 {
			t.Errorf("%d rows, %v", n, err)
		}
	})
}

func TestAnEffectCheckThatFailsSaysWhatToDo(t *testing.T) {
	inDatabase(t, func(t *testing.T, d *markerstest.Database) {
		orders(t, d, "a")
		sleep := map[string]string{"mysql": "SELECT SLEEP(300), 2 FROM orders", "postgres": "SELECT pg_sleep(300)::text, 2 FROM orders"}[d.Driver]
		poor := d.User(t)
		for name, tt := range map[string]struct {
			query, dsn, want string
		}{
			"too slow":            {sleep, "", "did not end the effect check within 1s: add an index on the key"},
			"no rights":           {doubles, poor, "grant it SELECT on the tables of the query"},
			"no such table":       {"SELECT a FROM nowhere", "", "does not know what the effect check names"},
			"no such column":      {"SELECT nothing FROM orders", "", "correct effect_check.query"},
			"nonsense":            {"SELECT FROM WHERE", "", "does not accept the effect check"},
			"a key without group": {"SELECT order_no, COUNT(*) FROM orders GROUP BY nothing(1)", "", "correct effect_check.query"},
			"a wrong password":    {doubles, strings.Replace(poor, "secret", "canary", 1), "refused the user name"},
		} {
			check := openEffects(t, d, tt.query, func(c *effect.Config) {
				c.Timeout = 50 * time.Second // a busy server must have the time to say what is wrong
				if tt.query == sleep {
					c.Timeout = time.Second
				}
				if tt.dsn != "" {
					c.SQL.DSN = secret.New(tt.dsn)
				}
			})
			started := time.Now()
			_, err := check.Check(t.Context())
			if err == nil || !strings.Contains(dedup.PublicText(err), tt.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: %v", name, err)
			}
			if errors.Is(err, context.DeadlineExceeded) != (name == "too slow") || time.Since(started) > 100*time.Second {
				t.Errorf("%s: after %s: %v", name, time.Since(started), err)
			}
		}
	})
}

func TestAnEffectCheckOfAServerThatIsDown(t *testing.T) {
	for _, driver := range []string{"mysql", "postgres"} {
		cfg := effectConfig(driver, doubles)
		cfg.SQL.DSN = secret.New(map[string]string{"mysql": "u:canary@tcp(127.0.0.1:1)/shop", "postgres": "postgres://u:canary@127.0.0.1:1/shop"}[driver])
		check, err := effect.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer check.Close()
		_, err = check.Check(t.Context())
		if dedup.KindOf(err) != dedup.Unavailable || !strings.Contains(dedup.PublicText(err), "refused the connection") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", driver, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := check.Check(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the end of the caller gives %v", driver, err)
		}
	}
}

func TestAnotherQueryIsAnotherCheck(t *testing.T) {
	var all []string
	for _, query := range []string{doubles, doubles + ";", "SELECT 1"} {
		check, err := effect.Open(effectConfig("mysql", query))
		if err != nil {
			t.Fatal(err)
		}
		defer check.Close()
		all = append(all, check.Query())
	}
	if all[0] != all[1] || slices.Contains(all[:2], all[2]) {
		t.Errorf("%q", all)
	}
}

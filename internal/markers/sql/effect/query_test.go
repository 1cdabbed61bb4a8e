package effect_test

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/sql/effect"
	"dedup-dashboard/internal/secret"
)

// effectConfig is a valid check with a query.
func effectConfig(driver, query string) effect.Config {
	dsn := "u:p@tcp(127.0.0.1:3306)/shop"
	if driver == "postgres" {
		dsn = "postgres://u:p@127.0.0.1:5432/shop"
	}
	return effect.Config{Pipeline: "orders", SQL: markers.SQL{Driver: driver, DSN: secret.New(dsn)}, Query: query}
}

func TestAnEffectCheckIsOnePlainSelect(t *testing.T) {
	for name, tt := range map[string]struct {
		query string
		// refused is what the refusal says; empty where the query is taken. only is the one driver that it is for.
		refused, only string
	}{
		"a plain one":                           {"SELECT order_no, COUNT(*) AS n FROM orders GROUP BY order_no HAVING COUNT(*) > 1", "", ""},
		"a semicolon at its end":                {"  select order_no from orders ;\n", "", ""},
		"one with a common table":               {"WITH d AS (SELECT order_no FROM orders) SELECT order_no FROM d", "", ""},
		"one in parentheses":                    {"(SELECT a FROM b) UNION (SELECT c FROM d)", "", ""},
		"words of writing as text":              {"SELECT order_no FROM orders WHERE note <> 'INSERT INTO; DELETE -- it''s'", "", ""},
		"words of writing as a name":            {`SELECT "update" FROM orders`, "", "postgres"},
		"words of writing as a name in MySQL":   {"SELECT `update` FROM orders", "", "mysql"},
		"a function with a name of writing":     {"SELECT REPLACE(order_no, 'a', 'b') FROM orders", "", ""},
		"names that begin like words":           {"SELECT updated_at, insert_id, into_x FROM deleted", "", ""},
		"FOR in a function":                     {"SELECT SUBSTRING(order_no FROM 1 FOR 3) FROM orders", "", ""},
		"names beyond ASCII":                    {"SELECT 订单号 FROM 订单", "", ""},
		"no query":                              {" \n", "is missing", ""},
		"two statements":                        {"SELECT 1; SELECT 2", "one statement", ""},
		"a second statement behind the end":     {"SELECT 1;;", "one statement", ""},
		"a statement that is none to read":      {"DROP TABLE orders", "must begin with SELECT or WITH", ""},
		"an insertion":                          {"INSERT INTO orders VALUES (1)", "must begin with SELECT or WITH", ""},
		"a deletion behind a common table":      {"WITH d AS (DELETE FROM orders RETURNING order_no) SELECT order_no FROM d", "it says DELETE", ""},
		"a change behind a common table":        {"WITH d AS (SELECT 1) UPDATE orders SET a = 1", "it says UPDATE", ""},
		"a table made of it":                    {"SELECT order_no INTO copies FROM orders", "it says INTO", ""},
		"a file made of it":                     {"SELECT order_no FROM orders INTO OUTFILE 'x'", "it says INTO", ""},
		"rows that are locked":                  {"SELECT order_no FROM orders FOR UPDATE", "it says UPDATE", ""},
		"rows that are locked for reading":      {"SELECT order_no FROM orders FOR SHARE", "leave out FOR SHARE", ""},
		"rows that are locked as of old":        {"SELECT order_no FROM orders LOCK IN SHARE MODE", "LOCK IN SHARE MODE", ""},
		"a comment":                             {"SELECT order_no -- all\nFROM orders", "must not hold comments", ""},
		"a comment that MySQL runs":             {"SELECT 1 /*!50000 INTO OUTFILE 'x' */", "must not hold comments", ""},
		"a comment of MySQL":                    {"SELECT 1 # all", "must not hold comments", "mysql"},
		"a path in JSON":                        {"SELECT doc #>> '{order,no}' FROM orders", "", "postgres"},
		"a backslash that may hide a quote":     {`SELECT 'a\' OR 1 = 1; DROP TABLE orders; -- '`, "backslash", ""},
		"a quote that does not end":             {"SELECT 'a", "does not end", ""},
		"a quote in dollars that hides a quote": {"SELECT $$a'$$; DROP TABLE orders", "must not hold '$'", ""},
		"a control character":                   {"SELECT 1\x00", "must not hold the character U+0000", ""},
		"no text":                               {"SELECT '\xff'", "must be text", ""},
		"too long a text":                       {"SELECT '" + strings.Repeat("a", 1<<20) + "'", "at most 16384 bytes", ""},
		"a function that ends sessions":         {"SELECT pg_terminate_backend (pid) FROM pg_stat_activity", "pg_terminate_backend does more", ""},
		"a function that changes settings":      {"SELECT Set_Config('transaction_read_only', 'off', true)", "set_config does more", ""},
		"a function whose name is quoted":       {`SELECT "pg_terminate_backend"(pid) FROM pg_stat_activity`, "a quoted name before a parenthesis", ""},
		"a quoted function that takes ids":      {`SELECT "setval" ('orders_id_seq', 1)`, "a quoted name before a parenthesis", ""},
		"a quoted function of a schema":         {`SELECT pg_catalog."setval"('orders_id_seq', 1)`, "a quoted name before a parenthesis", ""},
		"a quoted function of a quoted schema":  {`SELECT "public"."dblink_exec"('shop', 'DELETE FROM orders')`, "a quoted name before a parenthesis", ""},
		"a function in code points":             {`SELECT U&"set!0076al" UESCAPE '!' ('orders_id_seq', 1)`, "a quoted name before a parenthesis", "postgres"},
		"a function in quotes of MySQL":         {"SELECT `get_lock`('a', 10)", "a quoted name before a parenthesis", "mysql"},
		"text and names in parentheses":         {`SELECT MAX("order_no") FROM orders WHERE note IN ('a') AND (note <> 'b')`, "", ""},
		"a column with a name of the scanner's": {"SELECT quoted FROM (SELECT 1 AS quoted) AS quoted (quoted)", "", ""},
	} {
		for _, driver := range []string{"mysql", "postgres"} {
			if tt.only != "" && tt.only != driver {
				continue
			}
			err := effectConfig(driver, tt.query).Validate()
			switch {
			case tt.refused == "" && err != nil:
				t.Errorf("%s, %s: %v", name, driver, err)
			case tt.refused != "" && (err == nil || !strings.HasPrefix(err.Error(), "query: ") || !strings.Contains(err.Error(), tt.refused)):
				t.Errorf("%s, %s: %v, want %q", name, driver, err, tt.refused)
			}
		}
	}
}

func FuzzAnEffectCheckIsRefusedOrHasNoSecondStatement(f *testing.F) {
	for _, seed := range []string{"SELECT 1; DROP TABLE a", "SELECT 'a;b'", "WITH a AS (SELECT 1) SELECT 2;", "SELECT `a;`", `SELECT "a;'" , 'b'`, "SELECT $a$;$a$"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if effectConfig("postgres", query).Validate() != nil {
			return
		}
		// What is left when all that stands between equal quotes is gone has no semicolon but the last.
		var open rune
		var bare strings.Builder
		for _, r := range query {
			switch {
			case open == 0 && (r == '\'' || r == '"'):
				open = r
			case open == 0:
				bare.WriteRune(r)
			case r == open:
				open = 0
			}
		}
		if text := strings.TrimSpace(bare.String()); open != 0 || strings.Contains(strings.TrimSuffix(text, ";"), ";") || strings.Contains(text, "--") {
			t.Errorf("%q is taken", query)
		}
	})
}

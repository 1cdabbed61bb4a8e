package check

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/sql/effect"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/markerstest"
)

func TestCheckRunsTheEffectCheckOnce(t *testing.T) {
	var servers markerstest.SQLServers
	t.Cleanup(func() {
		if err := servers.Stop(); err != nil {
			t.Error(err)
		}
	})
	d := servers.Database(t, "mysql")
	d.Exec(t, "CREATE TABLE orders (order_no VARCHAR(40))", "INSERT INTO orders VALUES ('A-1'), ('A-2'), ('A-2'), ('A-3'), ('A-3'), ('A-3'), (NULL), (NULL)")
	for name, tt := range map[string]struct {
		query string
		rows  int
		fails bool
		want  []string
	}{
		"what it finds": {"SELECT order_no, COUNT(*) AS n FROM orders GROUP BY order_no HAVING COUNT(*) > 1 ORDER BY 1", 0, false, []string{"effect check of pipeline orders", ": 2 business keys whose work", `double_effect: "A-2", 2 times`, `"A-3", 3 times`, "1 row of the answer without a key"}},
		"what it cuts":  {"SELECT order_no, COUNT(*) AS n FROM orders WHERE order_no > '' GROUP BY order_no HAVING n > 1", 1, false, []string{"at least 1 business key", "longer than max_rows, 1"}},
		"no HAVING":     {"SELECT order_no, COUNT(*) AS n FROM orders WHERE order_no = 'A-1' GROUP BY order_no", 0, false, []string{": 0 business keys", "add HAVING"}},
		"what is amiss": {"SELECT order_no FROM nowhere", 0, true, []string{"PROBLEM", "does not know what the effect check names"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := tryEffects(t.Context(), &out, effect.Config{Pipeline: "orders", SQL: markers.SQL{Driver: "mysql", DSN: secret.New(d.AdminDSN())}, Query: tt.query, MaxRows: tt.rows})
			if (err != nil) != tt.fails {
				t.Errorf("ends with %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("does not say %q:\n%s", want, out.String())
				}
			}
		})
	}
}

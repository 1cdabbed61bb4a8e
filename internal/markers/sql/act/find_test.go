package act_test

import (
	"fmt"
	"strings"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/markerstest"
)

func TestFindOfThousandsWithTheRightsOfAWatcher(t *testing.T) {
	for _, driver := range markerstest.Drivers() {
		a := openDedup(t, driver)
		var values, ids []string
		for i := range 1200 {
			values = append(values, fmt.Sprintf("('m-%d', %d)", i, i%3))
		}
		a.Exec(t, "INSERT INTO message_dedup (message_id, status) VALUES "+strings.Join(values, ", "))
		for i := range 10_000 {
			ids = append(ids, fmt.Sprintf("m-%d", 9_999-i))
		}
		for i, s := range markerstest.Find(t, markerstest.OpenStore(t, a.cfg), ids...) {
			n := 9_999 - i
			if (s != nil) != (n < 1200) || s != nil && (s.ID != ids[i] || s.State != []dedup.State{dedup.Processing, dedup.Done, dedup.Failed}[n%3]) {
				t.Fatalf("%s: %+v", ids[i], s)
			}
		}
	}
}

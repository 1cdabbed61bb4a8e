package marker

import "testing"

func TestAStoreThatDidNotAnswerIsNotAmongThoseWithoutAMarker(t *testing.T) {
	for _, c := range []struct {
		found, silent, stores int
		want                  string
	}{
		{0, 1, 9, "No marker in 8 stores; 1 store did not answer"},
		{1, 2, 3, "1 marker in 1 store; 2 stores did not answer"},
		{0, 0, 9, "No marker in 9 stores"},
		{0, 2, 2, "Unknown: no store answered"},
	} {
		if got := lookupSum(c.found, c.silent, c.stores); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

package text

import "testing"

func TestNumbersInSentences(t *testing.T) {
	for n, want := range map[int64]string{0: "0 markers", 1: "1 marker", 2: "2 markers", 999: "999 markers", 1000: "1,000 markers", 1234567: "1,234,567 markers"} {
		if got := Counted(n, "marker"); got != want {
			t.Errorf("Counted(%d) = %q, want %q", n, got, want)
		}
	}
	if got := Grouped(-1234); got != "-1,234" {
		t.Errorf("Grouped(-1234) = %q", got)
	}
}

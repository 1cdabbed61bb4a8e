package auth

import (
	"strings"
	"testing"
	"time"
)

func TestAWaitIsNeverSaidToBeNone(t *testing.T) {
	for wait, want := range map[time.Duration]string{time.Millisecond: "in 1s", 1400 * time.Millisecond: "in 1s", 90 * time.Second: "in 1m30s"} {
		if got := (&TooSoon{RetryAfter: wait}).Error(); !strings.HasSuffix(got, want) {
			t.Errorf("%v is said as %q", wait, got)
		}
	}
}

package broker

import (
	"testing"
	"time"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits for a condition that a broker brings about.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(90 * time.Second); !holds(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain: " + what)
		}
	}
}

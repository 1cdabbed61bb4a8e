package broker

import (
	"testing"
	"time"
)

// betweenLooks is the pause between looks at figures that a real broker brings about: each look takes both a while of a processor.
const betweenLooks = 100 * time.Millisecond

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

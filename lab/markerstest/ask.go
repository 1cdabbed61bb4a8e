package markerstest

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
)

// KeepNothing is for clears whose image nobody wants.
func KeepNothing(dedup.Sighting) error { return nil }

// Find returns the markers of the ids, none with a value.
func Find(t testing.TB, store markers.Store, ids ...string) []*dedup.Sighting {
	t.Helper()
	found, err := store.Find(t.Context(), ids)
	if err != nil || len(found) != len(ids) {
		t.Fatalf("%d answers to %d ids: %v", len(found), len(ids), err)
	}
	for _, s := range found {
		if s != nil && (s.Value != nil || s.Sample != "" || s.Key != "" && s.Server == "") {
			t.Errorf("a sighting with a value or without a server: %+v", s)
		}
	}
	return found
}

// Said writes sightings in words: the state, the failures, and c where only a counter is there.
func Said(found []*dedup.Sighting) string {
	words := make([]string, len(found))
	for i, s := range found {
		switch {
		case s == nil:
			words[i] = "-"
			continue
		default:
			words[i] = string(s.State)
		}
		if s.Attempts != nil {
			words[i] += fmt.Sprint(*s.Attempts)
		}
		if s.CounterAlone() {
			words[i] += "c"
		}
	}
	return strings.Join(words, " ")
}

// Decode reads the entry of a store.
func Decode(t testing.TB, text string) (markers.Config, error) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	var cfg markers.Config
	err := d.Decode(&cfg)
	return cfg, err
}

// WaitUntil polls until something holds.
func WaitUntil(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(90 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// ResetPeak returns our resident memory in MiB, and makes the peak start from there.
func ResetPeak(b testing.TB) float64 {
	b.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil {
		b.Fatal(err)
	}
	return Memory(b, "VmRSS")
}

// Memory returns one of our memory figures in MiB.
func Memory(b testing.TB, name string) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			var kb float64
			if _, err := fmt.Sscan(value, &kb); err == nil {
				return kb / 1024
			}
		}
	}
	b.Fatalf("no %s", name)
	return 0
}

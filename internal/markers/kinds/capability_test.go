package kinds_test

import (
	"testing"

	"dedup-dashboard/internal/markers"
)

// The vocabulary says what a kind can do by its name: it must know the names that configurations have.
func TestTheSchemeOfEachPresetCanDoWhatItsKindCan(t *testing.T) {
	type abilities struct{ notifies, expires, failures, inserts, statements bool }
	want := map[string]abilities{
		markers.RedisString: {notifies: true, expires: true},
		markers.RedisHash:   {expires: true},
		markers.RedisLock:   {expires: true},
		markers.SQLTable:    {failures: true, inserts: true, statements: true},
	}
	for _, name := range markers.PresetNames() {
		cfg, _ := markers.Preset(name)
		s := cfg.Scheme()
		got := abilities{s.Notifies(), s.Expires(), s.DatesFailures(), s.CountsInserts(), s.CountsStatements()}
		if got != want[cfg.Kind] || !s.HasStore() || s.DatesByExpiry() != (cfg.Kind == markers.RedisString && cfg.TTL.Done > 0) {
			t.Errorf("%s: %+v, want %+v", name, got, want[cfg.Kind])
		}
	}
}

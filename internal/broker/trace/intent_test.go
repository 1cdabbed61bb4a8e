package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTracesOfBrokersThatAreConfiguredNoMoreAreTold(t *testing.T) {
	data := t.TempDir()
	path := func(name string) string { return filepath.Join(data, "traces", name+".json") }
	began := time.Now().UTC().Truncate(time.Second)
	for name, off := range map[string]time.Time{"main": {}, "gone": {}, "gone-and-off": began.Add(time.Minute)} {
		if err := (intent{Broker: name, Vhost: "shop", Nodes: []string{"http://10.0.0.7:15672"}, Began: began, Off: off}).write(path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path("broken"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	left, err := LeftTraces(data, func(name string) bool { return name == "main" })
	if err == nil || !strings.Contains(err.Error(), "broken.json") {
		t.Errorf("an intent that cannot be read: %v", err)
	}
	if len(left) != 1 || left[0].Broker != "gone" || left[0].Vhost != "shop" || !left[0].Began.Equal(began) || !left[0].Off.IsZero() {
		t.Fatalf("%+v", left)
	}
	for _, want := range []string{"10.0.0.7", "trace_off", "shop", path("gone")} {
		if !strings.Contains(left[0].Err, want) {
			t.Errorf("%q does not say %q", left[0].Err, want)
		}
	}
	if _, ok, err := readIntent(path("gone")); !ok || err != nil {
		t.Errorf("the intent is gone: %v", err)
	}
}

func TestNothingIsLeftWhereNothingWasEverTraced(t *testing.T) {
	if left, err := LeftTraces(t.TempDir(), func(string) bool { return false }); len(left) > 0 || err != nil {
		t.Errorf("%+v, %v", left, err)
	}
}

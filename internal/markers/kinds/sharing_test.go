package kinds

import (
	"slices"
	"testing"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
)

func TestStoresThatShareAServerAndACommandAreNamed(t *testing.T) {
	at := func(name, url, ask string) markers.Config {
		return markers.Config{Name: name, Kind: markers.RedisString, Ask: ask, Redis: markers.Redis{URL: secret.New(url)}}
	}
	orders := at("orders", "redis://127.0.0.1:6379/0", "SETNX")
	tests := map[string]struct {
		other markers.Config
		want  bool
	}{
		"the same server and command":         {at("shipping", "redis://127.0.0.1:6379/0", "SETNX"), true},
		"another database of the same server": {at("shipping", "redis://someone:word@LOCALHOST:6379/3", "SETNX"), true},
		"another command":                     {at("shipping", "redis://127.0.0.1:6379/0", "GET"), false},
		"another server":                      {at("shipping", "redis://127.0.0.1:6380/0", "SETNX"), false},
		"an address that cannot be read":      {at("shipping", "http://127.0.0.1:6379", "SETNX"), false},
		"a lock":                              {markers.Config{Name: "shipping", Kind: markers.RedisLock, Ask: "SETNX", Redis: orders.Redis}, false},
		"itself":                              {orders, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := CommandSharers(orders, []markers.Config{orders, tt.other})
			if want := []string{"shipping"}; tt.want != slices.Equal(got, want) || !tt.want && len(got) > 0 {
				t.Errorf("got %q", got)
			}
		})
	}
	if got := CommandSharers(at("a", "redis://h:1", ""), []markers.Config{at("b", "redis://h:1", "")}); got != nil {
		t.Errorf("without a command: %q", got)
	}
}

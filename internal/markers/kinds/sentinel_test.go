package kinds

import (
	"slices"
	"testing"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
)

// TestStoresOfOneSentinelGroupAreOfOneServer asks of two stores that want the same keys of the same database by the same command whether it
// is seen.
func TestStoresOfOneSentinelGroupAreOfOneServer(t *testing.T) {
	at := func(master, url string, addresses ...string) markers.Config {
		return markers.Config{Kind: markers.RedisString, Ask: "SETNX", Match: "order:*",
			Redis: markers.Redis{URL: secret.New(url), Sentinel: markers.Sentinel{Master: master, Addresses: addresses}}}
	}
	node := func(addresses ...string) markers.Config {
		c := at("", "redis://nowhere/0")
		c.Redis.Cluster = addresses
		return c
	}
	const url = "redis://nowhere/1"
	for name, c := range map[string]struct {
		stores           []markers.Config // it is asked of the first and the last
		server, database bool
	}{
		"the same list in another order": {[]markers.Config{at("m", url, "a:1", "b:1"), at("m", url, "b:1", "a:1")}, true, true},
		"one Sentinel in common":         {[]markers.Config{at("m", url, "a:1", "b:1"), at("m", url, "B:1", "c:1")}, true, true},
		"another database":               {[]markers.Config{at("m", url, "a:1", "b:1"), at("m", "redis://nowhere/2", "b:1")}, true, false},
		"another master":                 {[]markers.Config{at("m", url, "a:1"), at("n", url, "a:1")}, false, false},
		"no Sentinel in common":          {[]markers.Config{at("m", url, "a:1"), at("m", url, "b:1")}, false, false},
		"each has one with a third":      {[]markers.Config{at("m", url, "a:1"), at("m", url, "x:1"), at("m", url, "a:1", "b:1"), at("m", url, "b:1")}, true, true},
		"the third comes last":           {[]markers.Config{at("m", url, "a:1"), at("m", "redis://nowhere/2", "b:1", "a:1"), at("m", url, "b:1")}, true, true},
		"a server without Sentinels":     {[]markers.Config{at("m", url, "a:1"), at("", "redis://a:1/1")}, false, false},
		"a cluster node in common":       {[]markers.Config{node("a:1", "b:1"), node("B:1", "c:1")}, true, true},
		"no cluster node in common":      {[]markers.Config{node("a:1"), node("b:1")}, false, false},
		"a cluster and one server":       {[]markers.Config{node("a:1"), at("", "redis://a:1/0")}, false, false},
		"a URL that cannot be read":      {[]markers.Config{at("m", "http://nowhere", "a:1"), at("m", url, "a:1")}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			last := len(c.stores) - 1
			for i := range c.stores {
				c.stores[i].Name = string(rune('a' + i))
			}
			_, open := Resolve(c.stores)
			overlaps := slices.ContainsFunc(open, func(err error) bool { return err.(*Overlap).Stores == [2]int{0, last} })
			shares := slices.Contains(CommandSharers(c.stores[0], c.stores), c.stores[last].Name)
			if overlaps != c.database || shares != c.server {
				t.Errorf("one database: %t, want %t; one server: %t, want %t; %v", overlaps, c.database, shares, c.server, open)
			}
		})
	}
}

package events

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/redis/client"
)

func TestClaimsBornWithoutExpiryAreListedBesideThoseOfThePass(t *testing.T) {
	at := func(minute int) time.Time { return bookDay.Add(time.Duration(minute) * time.Minute) }
	marker := func(key string, minute int, expires time.Time) dedup.Marker {
		return dedup.Marker{Key: key, ID: key, State: dedup.Processing, FirstSeen: at(minute), Expires: expires}
	}
	var never time.Time
	pass := &dedup.Pass{
		Matched: 3, States: map[dedup.State]int64{dedup.Processing: 3}, NoExpiry: map[dedup.State]int64{dedup.Processing: 1},
		OldestProcessing: []dedup.Marker{marker("known", 10, never), marker("again", 10, at(60)), marker("other", 10, at(60))},
		Permanent:        []dedup.Marker{marker("known", 10, never)},
	}
	before := fmt.Sprintf("%+v", pass)
	got := WithBorn(pass, []dedup.Marker{marker("known", 5, never), marker("again", 11, never), marker("new", 12, never), {TooLong: "xxx", State: dedup.Processing}})
	if after := fmt.Sprintf("%+v", pass); after != before {
		t.Errorf("the pass was changed:\n%s\n%s", before, after)
	}
	want := &dedup.Pass{
		Matched: 4, States: map[dedup.State]int64{dedup.Processing: 4}, NoExpiry: map[dedup.State]int64{dedup.Processing: 3},
		OldestProcessing: []dedup.Marker{marker("known", 5, never), marker("again", 11, never), marker("new", 12, never), marker("other", 10, at(60))},
		Permanent:        []dedup.Marker{marker("known", 5, never), marker("again", 11, never), marker("new", 12, never)},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(dedup.Timeline{})); d != "" {
		t.Errorf("pass (-want +got):\n%s", d)
	}
	if WithBorn(nil, []dedup.Marker{marker("new", 1, never)}) != nil || WithBorn(pass, nil) != pass {
		t.Error("a pass is made of nothing, or copied for nothing")
	}
	full := &dedup.Pass{States: map[dedup.State]int64{dedup.Processing: 5000}, NoExpiry: map[dedup.State]int64{dedup.Processing: 5000}}
	for i := range dedup.MaxListed {
		full.OldestProcessing = append(full.OldestProcessing, marker(fmt.Sprint(i), i, never))
	}
	full.Permanent = full.OldestProcessing
	got = WithBorn(full, []dedup.Marker{marker("new", 1, never)})
	if got.States[dedup.Processing] != 5000 || len(got.Permanent) != dedup.MaxListed || len(got.OldestProcessing) != dedup.MaxListed {
		t.Errorf("a full list: %v, %d, %d", got.States, len(got.Permanent), len(got.OldestProcessing))
	}
}

func TestCommandStatisticsTellWhenTheyBeginAnew(t *testing.T) {
	base := client.Info{"run_id": "a", "role": "master", "cmdstat_setnx": "calls=100,usec=1,usec_per_call=0.01,rejected_calls=7,failed_calls=3",
		"cmdstat_info": "calls=10,usec=1", "total_commands_processed": "1000", "cmdstat_config|set": "calls=1,usec=1", "cmdstat_config|resetstat": "calls=1,usec=1"}
	before := commandsOf(base, "SETNX", 0)
	if before.asked != 100 || !before.known {
		t.Errorf("asked %d: failed calls were executed, rejected ones were not", before.asked)
	}
	for name, c := range map[string]struct {
		changes client.Info
		breaks  bool
	}{
		"more calls":                    {client.Info{"cmdstat_setnx": "calls=101,usec=1"}, false},
		"the calls of another command":  {client.Info{"cmdstat_get": "calls=5,usec=1"}, false},
		"fewer calls":                   {client.Info{"cmdstat_setnx": "calls=99,usec=1"}, true},
		"a reset and many calls since":  {client.Info{"cmdstat_setnx": "calls=5000,usec=1", "cmdstat_info": "calls=2,usec=1"}, true},
		"a second reset":                {client.Info{"cmdstat_config|resetstat": "calls=2,usec=1"}, true},
		"fewer commands":                {client.Info{"total_commands_processed": "999"}, true},
		"another process":               {client.Info{"run_id": "b"}, true},
		"another role":                  {client.Info{"role": "slave"}, true},
		"a changed setting":             {client.Info{"cmdstat_config|set": "calls=2,usec=1"}, true},
		"an emptied database":           {client.Info{"cmdstat_flushdb": "calls=1,usec=1"}, true},
		"exchanged databases":           {client.Info{"cmdstat_swapdb": "calls=1,usec=1"}, true},
		"numbers that are none at all":  {client.Info{"cmdstat_setnx": "calls=x", "total_commands_processed": ""}, true},
		"a longer and unrelated answer": {client.Info{"x": "y"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := client.Info{}
			for k, v := range base {
				now[k] = v
			}
			for k, v := range c.changes {
				now[k] = v
			}
			if why := before.breaks(commandsOf(now, "SETNX", 0)); (why != "") != c.breaks {
				t.Errorf("because %q", why)
			}
		})
	}
	for flags, want := range map[string]bool{"K$gxe": true, "AK": true, "AKE": true, "AE": false, "": false, "K$g": false, "Kgx": false, "g$xK": true} {
		if notifies(flags) != want {
			t.Errorf("notify-keyspace-events %q: %v", flags, !want)
		}
	}
	for name, i := range map[string]client.Info{"Cluster": {"cluster_enabled": "1"}, "Sentinel": {"redis_mode": "sentinel"}, "replica": {"role": "slave"}} {
		if why := commandsOf(i, "", 0).refuses(); why == "" {
			t.Errorf("a %s is not refused", name)
		}
	}
}

package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

func TestThePageOfAPipelineNamesTheLockBesideItsMarkers(t *testing.T) {
	now := time.Now()
	p := &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Store: "flags", Lock: "locks"}}
	locks := dedup.StoreStatus{Name: "locks", Scheme: dedup.Scheme{Preset: "redisson-lock", OnInFlight: "wait", Lock: true},
		Stats: dedup.StoreStats{Pass: &dedup.Pass{Ended: now.Add(-time.Second), States: map[dedup.State]int64{dedup.Processing: 3}}}}
	for want, stores := range map[string][]dedup.StoreStatus{"locks: 3 held": {locks}, "locks: not walked over yet": {{Name: "locks"}}, "": {{Name: "others"}}} {
		v := &templates.PipelineView{}
		markerViews(v, &dedup.Snapshot{At: now, Stores: stores}, p, web.Reader{}, now)
		i := slices.IndexFunc(v.MarkerFacts, func(f templates.Fact) bool { return f.Label == "Lock" })
		if (i >= 0) != (want != "") || i >= 0 && !strings.HasPrefix(v.MarkerFacts[i].Value, want) {
			t.Errorf("%+v, want %q", v.MarkerFacts, want)
		}
	}
	if facts := identity(p); !slices.Contains(facts, templates.Fact{Label: "Lock", Value: "locks"}) {
		t.Errorf("%+v", facts)
	}
}

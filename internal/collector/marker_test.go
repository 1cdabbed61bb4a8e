package collector

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/dedup"
)

// A marker that was seen for longer than another one is old is the oldest, though only a lower bound is known of it.
func TestTheOldestMarkerIsTheOneOfTheLargestBound(t *testing.T) {
	since := func(d time.Duration) dedup.Marker {
		return dedup.Marker{State: dedup.Processing, Since: findingNow.Add(findingOffset - d)}
	}
	seen := func(d time.Duration) dedup.Marker {
		return dedup.Marker{State: dedup.Processing, FirstSeen: findingNow.Add(-d)}
	}
	for name, tt := range map[string]struct {
		markers []dedup.Marker
		value   float64
		atLeast bool
		known   bool
	}{
		"none is processing":                           {nil, 0, false, false},
		"one with a beginning":                         {[]dedup.Marker{since(36 * time.Second)}, 36, false, true},
		"one that is only known to have been seen":     {[]dedup.Marker{seen(75 * time.Second)}, 75, true, true},
		"one of each, the second seen for longer":      {[]dedup.Marker{seen(75 * time.Second), since(36 * time.Second)}, 75, true, true},
		"one of each, the first begun long before":     {[]dedup.Marker{since(time.Hour), seen(time.Minute)}, 3600, true, true},
		"one of which nothing is known beside a bound": {[]dedup.Marker{{}, since(36 * time.Second)}, 36, true, true},
		"one of which nothing is known":                {[]dedup.Marker{{}}, 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := passWith(func(p *dedup.Pass) { p.OldestProcessing = tt.markers })
			f := figure.Markers{Now: findingNow, Scheme: nackScheme, Stats: dedup.StoreStats{Pass: p}}.Figures().Oldest
			if f.Known() != tt.known || f.Value != tt.value || f.AtLeast != tt.atLeast {
				t.Errorf("oldest %+v, want %v s, at least %v, known %v", f, tt.value, tt.atLeast, tt.known)
			}
			if f.Why == "" && (f.AtLeast || !f.Known()) {
				t.Errorf("%+v does not say why", f)
			}
		})
	}
}

// An id that is not for the store's keys: 0 would read as "all is well".
func TestKeysWithoutAnIDMakeNoMeasuredZero(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		p := stuckPass(0, 0)
		p.States, p.Matched, p.Misfits, p.Misfit = map[dedup.State]int64{}, 0, 186, "mail:sent:7"
		b.store.set(func(f *fakeSource) { f.stats.Pass = p })
		pass(2 * testInterval)
		st := b.pipeline(t, "orders")
		figures := map[string]dedup.Figure{"stuck": st.Stuck, "oldest": st.OldestProcessing, "without expiry": st.MarkersNoExpiry,
			"duplicate rate": st.Windows[0].DuplicateRate, "given up": st.Windows[0].GaveUp}
		for _, state := range []dedup.State{dedup.Processing, dedup.Done} {
			figures[string(state)] = st.Markers[state]
		}
		for what, f := range figures {
			if f.Known() || !strings.Contains(f.Why, "186 keys of store ") || strings.Contains(f.Why, "mail:sent:7") {
				t.Errorf("%s: %+v, want unknown with the reason and no key", what, f)
			}
		}
		if got := kindsOf(st); !slices.Contains(got, "markers_without_id") {
			t.Errorf("found %v", got)
		}
	})
}

// A wrong preset: what is processing cannot be decoded. 0 would read as "all is well".
func TestMarkersThatCannotBeDecodedMakeCountsLowerBounds(t *testing.T) {
	during(t, func(t *testing.T, b *testBench) {
		p := stuckPass(0, 0)
		p.States[dedup.StateUnknown], p.Matched, p.ValuesRead = 2, 2, 2
		b.store.set(func(f *fakeSource) { f.stats.Pass = p })
		pass(2 * testInterval)
		st := b.pipeline(t, "orders")
		for what, f := range map[string]dedup.Figure{"processing": st.Markers[dedup.Processing], "stuck": st.Stuck} {
			if !f.Known() || !f.AtLeast || f.Value != 0 || f.Why != "at least: 2 markers could not be decoded and may be processing" {
				t.Errorf("%s: %+v, want at least 0 with the reason", what, f)
			}
		}
		if f := st.OldestProcessing; f.Known() || f.Why != "2 markers could not be decoded and may be processing" {
			t.Errorf("oldest: %+v, want unknown with the reason", f)
		}
		if f := st.Markers[dedup.StateUnknown]; f.Value != 2 || f.AtLeast {
			t.Errorf("unknown: %+v, want exactly 2", f)
		}
		if got := kindsOf(st); !slices.Contains(got, "markers_undecodable") {
			t.Errorf("found %v", got)
		}
	})
}

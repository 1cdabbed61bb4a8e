package server

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/lab/demo"
)

func TestAKeyOfAnyBytesSurvivesAddressFormAndJSON(t *testing.T) {
	for _, key := range []string{"msg:1", "a b+c%2F&=\r\n", "\x00\xff\xfe", "\u202eevil", strings.Repeat("k", web.MaxKey)} {
		at, err := url.Parse(web.MarkerAddress("", "orders", key))
		if err != nil || at.Query().Get("key") != key {
			t.Errorf("%.20q comes back from an address as %.20q", key, at.Query().Get("key"))
		}
		if got, err := web.DecodeKey(web.EncodeKey(key)); err != nil || got != key {
			t.Errorf("%.20q comes back from a form as %.20q: %v", key, got, err)
		}
		text, _ := json.Marshal(markerOf(web.JudgedMarker{Marker: dedup.Marker{Key: key}}))
		var back markerJSON
		if err := json.Unmarshal(text, &back); err != nil || back.Key != key && string(back.KeyBase64) != key {
			t.Errorf("%.20q comes back from JSON as %.20q", key, back.Key)
		}
	}
	if got := web.MarkerAddress("", "orders", strings.Repeat("k", web.MaxKey+1)); got != "" {
		t.Error("a key that is too long for an address has one")
	}
}

func TestALifeIsComparedByTheStoresClock(t *testing.T) {
	for _, tt := range []struct {
		name             string
		since, expires   time.Duration
		offset           time.Duration
		age, left        string
		share            int
		never, over, bar bool
	}{
		{"half of it", -30 * time.Second, 30 * time.Second, 0, "30 s", "30 s left of 1 m", 500, false, false, true},
		{"a clock that is ahead", -30 * time.Second, 30 * time.Second, 15 * time.Second, "45 s", "15 s left of 1 m", 750, false, false, true},
		{"never ending", -time.Hour, 0, 0, "1 h", "never expires", 1000, true, false, true},
		{"past its end", -time.Hour, -time.Minute, 0, "1 h", "expired 1 m ago", 1000, false, true, true},
	} {
		m := dedup.Marker{Since: noon.Add(tt.since)}
		if tt.expires != 0 {
			m.Expires = noon.Add(tt.expires)
		}
		l := web.LifeOf(m, tt.offset, noon)
		if l.Age != tt.age || l.Left != tt.left || l.Share != tt.share || l.Never != tt.never || l.Over != tt.over || l.Drawn != tt.bar {
			t.Errorf("%s: %+v", tt.name, l)
		}
	}
	if l := web.LifeOf(dedup.Marker{FirstSeen: noon.Add(-time.Hour), Expires: noon.Add(time.Hour)}, 0, noon); l.Age != "≥ 1 h" || l.Drawn {
		t.Errorf("without a beginning: %+v", l)
	}
	if l := web.LifeOf(dedup.Marker{}, 0, noon); l.Age != "age unknown" || l.Drawn {
		t.Errorf("without anything: %+v", l)
	}
}

func thousand() *dedup.Snapshot {
	now := time.Now()
	snap := demo.Scene("mixed", now)
	demo.NewShelf(now).Stock(snap, now)
	pass := snap.Stores[0].Stats.Pass
	for i := len(pass.OldestProcessing); i < dedup.MaxListed; i++ {
		m := pass.OldestProcessing[i%12]
		m.ID, m.Key = fmt.Sprintf("%s-%d", m.ID, i), fmt.Sprintf("%s-%d", m.Key, i)
		pass.OldestProcessing = append(pass.OldestProcessing, m)
	}
	pass.States[dedup.Processing] = 12_480
	return snap
}

// BenchmarkThePageOfAThousandMarkers is the page of a full list with its verdicts, from the request to the last byte.
func BenchmarkThePageOfAThousandMarkers(b *testing.B) {
	s := newSite(b, nil, testUsers())
	s.snapshots.snap.Store(thousand())
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		res := s.as("viewer", "GET", "/pipelines/orders/markers", "")
		took = append(took, time.Since(start))
		if body := s.body(res); !strings.Contains(body, "the oldest 1,000 of 12,480") {
			b.Fatalf("%s: %.300s", res.Status, body)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

var _ markerService = (*admin.Markers)(nil)

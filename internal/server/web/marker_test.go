package web

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestAKeyOfAnyBytesSurvivesAddressAndForm(t *testing.T) {
	for _, key := range []string{"msg:1", "a b+c%2F&=\r\n", "\x00\xff\xfe", "\u202eevil", strings.Repeat("k", MaxKey)} {
		at, err := url.Parse(MarkerAddress("", "orders", key))
		if err != nil || at.Query().Get("key") != key {
			t.Errorf("%.20q comes back from an address as %.20q", key, at.Query().Get("key"))
		}
		if got, err := DecodeKey(EncodeKey(key)); err != nil || got != key {
			t.Errorf("%.20q comes back from a form as %.20q: %v", key, got, err)
		}
	}
	if got := MarkerAddress("", "orders", strings.Repeat("k", MaxKey+1)); got != "" {
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
		l := LifeOf(m, tt.offset, noon)
		if l.Age != tt.age || l.Left != tt.left || l.Share != tt.share || l.Never != tt.never || l.Over != tt.over || l.Drawn != tt.bar {
			t.Errorf("%s: %+v", tt.name, l)
		}
	}
	if l := LifeOf(dedup.Marker{FirstSeen: noon.Add(-time.Hour), Expires: noon.Add(time.Hour)}, 0, noon); l.Age != "≥ 1 h" || l.Drawn {
		t.Errorf("without a beginning: %+v", l)
	}
	if l := LifeOf(dedup.Marker{}, 0, noon); l.Age != "age unknown" || l.Drawn {
		t.Errorf("without anything: %+v", l)
	}
}

package dedup

import (
	"testing"
	"time"
)

func TestTheAgeOfAMarkerIsExactOrALowerBound(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 0, 0, 0, time.UTC)
	const offset = 10 * time.Second // the store's clock is ahead
	since := func(d time.Duration) Marker {
		return Marker{Since: at.Add(offset - d), FirstSeen: at.Add(-time.Second)}
	}
	seen := func(d time.Duration) Marker { return Marker{FirstSeen: at.Add(-d)} }
	for name, tt := range map[string]struct {
		markers []Marker
		want    Age
	}{
		"none has no age": {nil, Age{}},
		"a beginning makes it exact, by the store's clock": {[]Marker{since(time.Minute)}, Age{Span: time.Minute, Known: true}},
		"a beginning that lies ahead makes it 0":           {[]Marker{since(-time.Minute)}, Age{Known: true}},
		"a first sighting bounds it from below":            {[]Marker{seen(time.Minute)}, Age{Span: time.Minute, Known: true, AtLeast: true}},
		"nothing leaves it unknown":                        {[]Marker{{}}, Age{}},
		"the oldest is the one of the largest bound":       {[]Marker{since(36 * time.Second), seen(75 * time.Second)}, Age{Span: 75 * time.Second, Known: true, AtLeast: true}},
		"one of a smaller bound may still be older":        {[]Marker{since(time.Hour), seen(time.Second)}, Age{Span: time.Hour, Known: true, AtLeast: true}},
		"one of an unknown age may be older":               {[]Marker{{}, since(time.Hour)}, Age{Span: time.Hour, Known: true, AtLeast: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := OldestAge(tt.markers, at, offset); got != tt.want {
				t.Errorf("oldest %+v, want %+v", got, tt.want)
			}
			if len(tt.markers) == 1 {
				if got := AgeOf(tt.markers[0], at, offset); got != tt.want {
					t.Errorf("age %+v, want %+v", got, tt.want)
				}
			}
		})
	}
}

// The verdict must speak of the same age as every other place.
func TestTheVerdictTakesTheSameAge(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 0, 0, 0, time.UTC)
	e := Evidence{At: at, MaxProcessing: time.Minute, ClockOffset: time.Hour}
	for _, m := range []Marker{{State: Processing, Since: at.Add(time.Hour - 90*time.Second)}, {State: Processing, FirstSeen: at.Add(-90 * time.Second)}} {
		c, age := consider(m, e, Scheme{}), AgeOf(m, at, time.Hour)
		if c.age != age.Span || c.atLeast != age.AtLeast || c.aged != age.Known || age.Span != 90*time.Second {
			t.Errorf("considered %v (at least %v, known %v), want %+v", c.age, c.atLeast, c.aged, age)
		}
	}
}

package show

import (
	"testing"
	"time"
)

func TestAMomentIsReadToTheSecondUnlessItIsADayAway(t *testing.T) {
	now := time.Date(2026, 3, 2, 0, 0, 20, 0, time.UTC)
	for name, c := range map[string]struct {
		at   time.Time
		want string
	}{
		"today":                           {now.Add(-5 * time.Second), "00:00:15"},
		"later today":                     {now.Add(4 * time.Hour), "04:00:20"},
		"yesterday, just before midnight": {now.Add(-time.Minute), "1 Mar 23:59:20"},
		"yesterday, less than a day ago":  {now.Add(-24*time.Hour + time.Second), "1 Mar 00:00:21"},
		"a day ago":                       {now.Add(-24 * time.Hour), "1 Mar 00:00"},
		"tomorrow":                        {now.Add(24*time.Hour - time.Second), "3 Mar 00:00:19"},
		"never":                           {time.Time{}, ""},
		"in another zone":                 {now.Add(-time.Minute).In(time.FixedZone("", 2*3600)), "1 Mar 23:59:20"},
	} {
		if got := Moment(c.at, now).Text; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

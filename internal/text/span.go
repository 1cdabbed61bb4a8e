package text

import (
	"strconv"
	"strings"
	"time"
)

// Span writes a length of time as sentences have it: "45 s", "5 m", "1 h 30 m"; seconds only below an hour.
func Span(d time.Duration) string {
	if d >= time.Hour {
		d = d.Round(time.Minute)
	}
	d = d.Round(time.Second)
	var parts []string
	for _, u := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / u.size; n > 0 {
			parts = append(parts, strconv.FormatInt(int64(n), 10)+" "+u.name)
			d %= u.size
		}
	}
	if len(parts) == 0 {
		return "0 s"
	}
	return strings.Join(parts, " ")
}

// Clock writes a time of day, in UTC, for a sentence said now, with the date when it is of another day.
func Clock(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04 MST")
	}
	return t.Format("2 Jan 15:04 MST")
}

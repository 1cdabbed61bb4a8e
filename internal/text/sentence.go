package text

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Grouped writes a whole number with a comma between thousands.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Counted writes a number with its noun, whose plural takes an s: "1 marker", "1,200 markers".
func Counted[N int | int64](n N, noun string) string {
	return Grouped(int64(n)) + " " + Agree(n, noun, noun+"s")
}

// Agree returns the form of a word that agrees with a number.
func Agree[N int | int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Whole rounds what is counted for a sentence.
func Whole(v float64) int64 { return int64(math.Round(v)) }

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

// Cut cuts a text to n bytes, between two characters, and adds an ellipsis where it was longer.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// Reasons puts the reasons of several refusals into one sentence; empty ones are left out.
func Reasons(reasons ...string) string {
	var kept []string
	for _, r := range reasons {
		if r != "" {
			kept = append(kept, r)
		}
	}
	return strings.Join(kept, "; ")
}

// UntilAbout ends a sentence with the time at which what it says stops to hold.
func UntilAbout(t, now time.Time) string { return " (until about " + Clock(t, now) + ")" }

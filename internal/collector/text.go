package collector

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
)

// plain bounds a hostile string to max bytes and replaces everything that does not print: control characters, bidi
// overrides, broken UTF-8. Quotes stay as they are.
func plain(s string, limit int) string {
	cut := len(s) > limit
	if cut {
		s = s[:limit]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		if r, size := utf8.DecodeLastRuneInString(s); r == utf8.RuneError || r >= utf8.RuneSelf {
			s = s[:len(s)-size]
		}
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if cut {
		s += "…"
	}
	return s
}

// name quotes the name of a queue, exchange or store for a sentence.
func name(s string) string {
	q := strconv.Quote(plain(s, 120))
	return q[1 : len(q)-1]
}

// names joins at most five names of queues for a sentence.
func names(refs []dedup.QueueRef) string {
	list := make([]string, len(refs))
	for i, r := range refs {
		list[i] = r.Name
	}
	return listNames(list)
}

// listNames joins at most five names for a sentence.
func listNames(list []string) string {
	const most = 5
	var b strings.Builder
	for i, s := range list {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(list)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name(s))
	}
	return b.String()
}

// grouped writes a whole number with a comma between thousands.
func grouped(n int64) string {
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

// counted writes a number with its noun, whose plural takes an s: "1 marker", "1,200 markers".
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// verb returns the form of a verb that agrees with n.
func verb(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// someOf joins at most five hostile names for a sentence.
func someOf(all []string) string {
	const most = 5
	shown := make([]string, 0, most)
	for _, s := range all[:min(len(all), most)] {
		shown = append(shown, name(s))
	}
	return strings.Join(shown, ", ")
}

// clock writes a time of day for a sentence said now, with the date when it is of another day.
func clock(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04 MST")
	}
	return t.Format("2 Jan 15:04 MST")
}

// span writes a length of time in at most two units, as pages do: "45 s", "5 m", "1 h 30 m".
func span(d time.Duration) string {
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

// untilAbout ends a sentence with the time at which what it says stops to hold.
func untilAbout(t, now time.Time) string { return " (until about " + clock(t, now) + ")" }

// whole rounds a counter for a sentence.
func whole(v float64) int64 { return int64(math.Round(v)) }

// deliveredAgain counts redeliveries in words.
func deliveredAgain(v float64) string {
	n := whole(v)
	return grouped(n) + " " + verb(n, "redelivery", "redeliveries")
}

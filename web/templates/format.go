package templates

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Percent formats a ratio with two decimals: 0.015 is "1.50 %". What is above 0 but rounds to it is "< 0.01 %".
func Percent(ratio float64) string {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return "unknown"
	}
	if ratio > 0 && ratio < 0.00005 {
		return "< 0.01 %"
	}
	return percentDigits(ratio) + " %"
}

// PercentRange formats an interval of ratios: "0.80–1.92 %".
func PercentRange(low, high float64) string {
	a, b := percentDigits(low), percentDigits(high)
	if a == b {
		return a + " %"
	}
	return a + "–" + b + " %"
}

func percentDigits(ratio float64) string {
	return strconv.FormatFloat(ratio*100, 'f', 2, 64)
}

// Latency formats seconds for people: "0.8 ms", "42 ms", "1.24 s", "66 s", "2 m 5 s".
func Latency(seconds float64) string {
	ms := seconds * 1000
	switch {
	case math.IsNaN(seconds) || math.IsInf(seconds, 0):
		return "unknown"
	case ms == 0:
		return "0 ms"
	case ms < 0.095:
		return "< 0.1 ms"
	case ms < 9.95:
		return trimZero(strconv.FormatFloat(ms, 'f', 1, 64)) + " ms"
	case ms < 999.5:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case seconds < 9.995:
		return trimZero(strconv.FormatFloat(seconds, 'f', 2, 64)) + " s"
	case seconds < 99.5:
		return trimZero(strconv.FormatFloat(seconds, 'f', 1, 64)) + " s"
	default:
		return Span(time.Duration(seconds * float64(time.Second)))
	}
}

// An Amount is a number of things.
type Amount interface {
	~int | ~int64 | ~uint64 | ~float64
}

// Number formats a count with thousands separators and without decimals: "12,345".
func Number[N Amount](n N) string {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "unknown"
	}
	return group(strconv.FormatFloat(f, 'f', 0, 64))
}

// Rate formats a rate with three significant digits: "0.42", "12.3", "1,240".
func Rate(n float64) string {
	switch a := math.Abs(n); {
	case math.IsNaN(n) || math.IsInf(n, 0):
		return "unknown"
	case a == 0 || a >= 99.95:
		return Number(n)
	case a >= 9.995:
		return trimZero(strconv.FormatFloat(n, 'f', 1, 64))
	case a < 0.005:
		return "< 0.01"
	default:
		return trimZero(strconv.FormatFloat(n, 'f', 2, 64))
	}
}

// Bytes formats a size in binary units: "12.4 MiB".
func Bytes(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for math.Abs(n) >= 1024 && i < len(units)-1 {
		n /= 1024
		i++
	}
	if i == 0 {
		return Number(n) + " B"
	}
	return trimZero(strconv.FormatFloat(n, 'f', 1, 64)) + " " + units[i]
}

// Window formats the span of a measure as people say it: "15 m", "24 h".
func Window(d time.Duration) string {
	if d > 0 && d <= 48*time.Hour && d%time.Hour == 0 {
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return Span(d)
}

// Span formats a duration in its two largest units: "45 s", "2 m 5 s", "3 h 10 m", "4 d 2 h".
func Span(d time.Duration) string {
	if d < 0 {
		return "-" + Span(-d)
	}
	d = d.Round(time.Second)
	type unit struct {
		size time.Duration
		name string
	}
	units := []unit{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, u := range units {
		if d < u.size && u.name != "s" {
			continue
		}
		text := strconv.FormatInt(int64(d/u.size), 10) + " " + u.name
		if i+1 < len(units) {
			next := units[i+1]
			if rest := d % u.size / next.size; rest > 0 {
				text += " " + strconv.FormatInt(int64(rest), 10) + " " + next.name
			}
		}
		return text
	}
	return "0 s"
}

// trimZero drops a fraction that is only zeros: "3.0" is "3", "0.50" stays.
func trimZero(s string) string {
	whole, fraction, ok := strings.Cut(s, ".")
	if ok && strings.Trim(fraction, "0") == "" {
		return whole
	}
	return s
}

func group(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if digits == "0" {
		sign = ""
	}
	return sign + digits
}

// The places at which a line must not end: before the unit of a number, and behind what bounds it.
var (
	beforeUnit  = regexp.MustCompile(`(\d) (%|(?:ms|s|m|h|d|B|KiB|MiB|GiB|TiB)\b)`)
	behindBound = regexp.MustCompile(`([≤≥±<]) (\d)`)
)

// unbroken keeps each number of a text in one line with its unit.
func unbroken(text string) string {
	return behindBound.ReplaceAllString(beforeUnit.ReplaceAllString(text, "$1\u00a0$2"), "$1\u00a0$2")
}

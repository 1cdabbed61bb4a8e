package rule

import (
	"math"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// ValueText writes a figure with its unit: "4.62 %", "420 ms", "10,824", "12.30 per hour", "1.5 GiB". What is no number is "unknown".
func ValueText(v float64, unit dedup.Unit) string {
	if !Finite(v) {
		return "unknown"
	}
	switch unit {
	case dedup.Ratio:
		return percent(v)
	case dedup.Seconds:
		return secondsText(v)
	case dedup.PerHour:
		return decimal(v) + " per hour"
	case dedup.Bytes:
		return bytesText(v)
	default:
		return decimal(v)
	}
}

func percent(ratio float64) string { return strconv.FormatFloat(ratio*100, 'f', 2, 64) + " %" }

// secondsText writes a time in seconds, from parts of a millisecond to more than a Duration holds.
func secondsText(v float64) string {
	const day = 24 * 60 * 60
	switch ms := v * 1000; {
	case v < 0:
		return "-" + secondsText(-v)
	case ms < 9.95 && ms != 0:
		return strings.TrimSuffix(strconv.FormatFloat(ms, 'f', 1, 64), ".0") + " ms"
	case ms < 999.5:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case v < 9.995:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 2, 64), ".00") + " s"
	case v < 99.5:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " s"
	case v > math.MaxInt32: // 68 years
		return Number(v/day) + " d"
	default:
		return Span(time.Duration(v * float64(time.Second)))
	}
}

func bytesText(v float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for math.Abs(v) >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if i == 0 {
		return Number(v) + " B"
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " " + units[i]
}

// decimal writes a number with commas between thousands, and with decimals only where it is small and broken: with so many that it does
// not read as none.
func decimal(v float64) string {
	switch most := math.Abs(v); {
	case most >= 100 || v == math.Trunc(v):
		return Number(v)
	case most < 0.01:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// Number writes a number as a whole one, with a comma between thousands. What is no number is "unknown".
func Number(v float64) string {
	if !Finite(v) {
		return "unknown"
	}
	sign, digits := "", strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	if v < 0 && digits != "0" {
		sign = "-"
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Span writes a duration in its two largest units: "45 s", "2 m 5 s", "1 h", "4 d 2 h"; a window of a day is "24 h". One below 0 is "0 s".
func Span(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	if d <= 48*time.Hour && d >= time.Hour && d%time.Hour == 0 {
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	units := []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, u := range units {
		if d < u.size {
			continue
		}
		text := strconv.FormatInt(int64(d/u.size), 10) + " " + u.name
		if i+1 < len(units) {
			if rest := d % u.size / units[i+1].size; rest > 0 {
				text += " " + strconv.FormatInt(int64(rest), 10) + " " + units[i+1].name
			}
		}
		return text
	}
	return "0 s"
}

// Seconds writes how far apart two moments are: in seconds up to two minutes, and in minutes from there on.
func Seconds(d time.Duration) string {
	if d < 2*time.Minute {
		return strconv.Itoa(int(d.Round(time.Second)/time.Second)) + " s"
	}
	return Span(d.Round(time.Minute))
}

// Finite reports whether every value is a number that can be compared: NaN would fall through every limit to normal.
func Finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// CountText writes a figure of whole things with both ends.
func CountText(f dedup.Figure) string {
	switch {
	case f.AtLeast:
		return "at least " + Number(f.Low)
	case f.IsInterval():
		return Number(f.Low) + " to " + Number(f.High)
	}
	return Number(f.Low)
}

// Figured writes how many of a thing there are.
func Figured(n float64, word string) string {
	if math.Round(n) == 1 {
		return "1 " + word
	}
	return Number(n) + " " + word + "s"
}

// percentRange writes a rate, and both ends of an interval.
func percentRange(f dedup.Figure) string {
	switch {
	case f.AtLeast:
		return "at least " + percent(f.Low)
	case f.IsInterval() && f.Low <= 0:
		return "at most " + percent(f.High)
	case f.IsInterval():
		return percent(f.Low) + " to " + percent(f.High)
	}
	return percent(f.Low)
}

// seen is the part of its window that a figure rests on: less than the whole soon after a start.
func seen(f dedup.Figure) time.Duration {
	if f.Partial() && f.Covered > 0 {
		return f.Covered
	}
	return f.Window
}

// seenOf is the part of a window that a figure of it rests on, in whole minutes where it is long.
func seenOf(window time.Duration, f dedup.Figure) time.Duration {
	switch {
	case !f.Partial() || f.Covered <= 0:
		return window
	case f.Covered < 2*time.Minute:
		return f.Covered
	}
	return f.Covered.Round(time.Minute)
}

// SeenIn is the part of a window that a figure of it rests on, in words.
func SeenIn(w *dedup.WindowFigures, f dedup.Figure) string {
	if f.Partial() && f.Covered > 0 {
		return Seconds(f.Covered)
	}
	return Span(w.Window)
}

package notify

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
)

// The most characters of a name, a sentence and an address that a message repeats.
const (
	maxName = 120
	// maxHeadline bounds what a finding says in the first line.
	maxHeadline = 240
	maxText     = 600
	maxLink     = 1000
)

// clean makes a foreign text one line that can be shown: spaces for line breaks, escapes for what is invisible, turns the direction of
// the text or is not UTF-8, at most so many characters. What would call people or lead elsewhere in some chat is taken apart, on top of
// what each channel escapes.
func clean(s string, most int) string {
	var b strings.Builder
	count := 0
	for i, r := range s {
		if count >= most {
			b.WriteString("…")
			break
		}
		count++
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case !unicode.IsPrint(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return disarm(strings.TrimSpace(b.String()))
}

// crowd matches the words by which chats call everybody.
var crowd = regexp.MustCompile(`(?i)[@＠](all|channel|everyone|here|所有人)`)

// disarm takes apart mentions and links.
func disarm(s string) string {
	s = strings.NewReplacer("<!", "< !", "<@", "< @", "<#", "< #", "](", "] (", "://", ": //").Replace(s)
	return crowd.ReplaceAllString(s, "@ $1")
}

// safeLink returns an address of http or https that is fit for a link, empty for anything else.
func safeLink(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || len(text) > maxLink {
		return ""
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return ""
	}
	return strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C", "(", "%28", ")", "%29", `"`, "%22", "'", "%27", "[", "%5B", "]", "%5D", "`", "%60").Replace(u.String())
}

// value writes a figure with its unit as the pages do: "4.62 %", "420 ms", "10,824", "12.3 per hour", "1.5 GiB".
func value(v float64, unit dedup.Unit) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "unknown"
	}
	switch unit {
	case dedup.Ratio:
		return strconv.FormatFloat(v*100, 'f', 2, 64) + " %"
	case dedup.Seconds:
		return seconds(v)
	case dedup.PerHour:
		return decimal(v) + " per hour"
	case dedup.Bytes:
		return size(v)
	default:
		return decimal(v)
	}
}

func seconds(v float64) string {
	switch ms := v * 1000; {
	case ms < 9.95 && ms != 0:
		return strings.TrimSuffix(strconv.FormatFloat(ms, 'f', 1, 64), ".0") + " ms"
	case ms < 999.5:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case v < 99.5:
		return strconv.FormatFloat(v, 'f', 2, 64) + " s"
	default:
		return span(time.Duration(min(v, 1e9) * float64(time.Second)))
	}
}

func size(v float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for math.Abs(v) >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if i == 0 {
		return number(v) + " B"
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " " + units[i]
}

// decimal writes a number with commas between thousands, and with decimals only where it is small and broken.
func decimal(v float64) string {
	if math.Abs(v) >= 100 || v == math.Trunc(v) {
		return number(v)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// number writes a whole number with a comma between thousands.
func number(v float64) string {
	sign, digits := "", strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	if v < 0 && digits != "0" {
		sign = "-"
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// span writes a duration in its two largest units: "45 s", "2 m 5 s", "1 h", "4 d 2 h"; a window of a day is "24 h".
func span(d time.Duration) string {
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

// moment writes a time for people; alerts cross time zones, so it is UTC.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// plural writes a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(float64(n)) + " " + many
}

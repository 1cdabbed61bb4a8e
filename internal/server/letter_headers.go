package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

const (
	// wholeLimit is longer than any property or name of the protocol, escapes included: such texts are shown whole.
	wholeLimit = 2000
	// maxHeaders bounds a table of headers, shownHeaders the bytes of all their values together: a frame of RabbitMQ has 128 KiB unless configured.
	maxHeaders   = 200
	shownHeaders = 256 << 10
	// deepestHeader is how deep a table in a header is written out.
	deepestHeader = 32
)

// headerLines shows the headers of a letter but for the death history, and says what of them is left out. Long values are shown
// whole, folded up; where there is too much of them the largest are cut.
func headerLines(l deadletter.Letter) (lines []templates.HeaderLine, note string) {
	long := map[int]longValue{} // by their line
	more := 0
	for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
		if name == dedup.HeaderDeaths { // the death history stands above
			continue
		}
		if len(lines) == maxHeaders {
			more++
			continue
		}
		typ, value := headerText(l.Headers[name])
		if utf8.RuneCountInString(value) > show.PartLimit || strings.ContainsAny(value, "\r\n") {
			long[len(lines)] = longValue{value, max(len(value), nestedSize(l.Headers[name]))}
			value = beginning(value)
		}
		lines = append(lines, templates.HeaderLine{Name: templates.Plain(name, show.KeyLimit), Type: typ, Value: templates.Plain(value, show.PartLimit), Rule: headerRule(name)})
	}
	if unfold(lines, long) {
		note = "The values of all headers together are shown up to " + templates.Bytes(shownHeaders) + "."
	}
	if more > 0 {
		note = strings.TrimSpace(note + " " + show.Counted(more, "more header") + " " + show.Plural(int64(more), "is", "are") + " not shown.")
	}
	return lines, note
}

// A longValue is the value of a header that is shown folded up. Of a table or list the text may be the beginning alone; size is the bytes
// of all of it.
type longValue struct {
	text string
	size int
}

// unfold gives lines their long values, the shortest first, and reports whether some had to be cut.
func unfold(lines []templates.HeaderLine, long map[int]longValue) (cut bool) {
	left := shownHeaders
	order := slices.SortedFunc(maps.Keys(long), func(a, b int) int { return cmp.Or(cmp.Compare(long[a].size, long[b].size), cmp.Compare(a, b)) })
	for _, i := range order {
		shown := firstBytes(long[i].text, left)
		left -= len(shown)
		size := templates.Bytes(float64(long[i].size))
		lines[i].Whole, lines[i].Size = bodyLines([]byte(shown)), size
		if len(shown) < long[i].size {
			cut = true
			lines[i].Cut = "The first " + templates.Bytes(float64(len(shown))) + " of " + size + " are shown."
		}
	}
	return cut
}

// firstBytes cuts a text to n bytes, between two characters where it has any.
func firstBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n]
}

// beginning is what stands in the place of a long value until it is unfolded.
func beginning(value string) string {
	const most = 120
	line, _, more := strings.Cut(value, "\n")
	if utf8.RuneCountInString(line) > most {
		line, more = string([]rune(line)[:most]), true
	}
	if more {
		line = strings.TrimRight(line, "\r") + " …"
	}
	return line
}

func headerRule(name string) string {
	switch {
	case dedup.OwnHeader(name):
		return "written anew"
	case dedup.BrokerHeader(name):
		return "left out"
	default:
		return "kept"
	}
}

// headerText writes the value of a header with the name of its AMQP type.
func headerText(v any) (typ, text string) {
	switch v := v.(type) {
	case nil:
		return "void", ""
	case string:
		return "string", v
	case []byte:
		return "bytes", string(v)
	case bool:
		return "boolean", fmt.Sprint(v)
	case time.Time:
		return "timestamp", wireTime(v)
	case dedup.Decimal:
		return "decimal", fmt.Sprintf("%d × 10^-%d", v.Value, v.Scale)
	case []any:
		return "list of " + fmt.Sprint(len(v)), nestedText(v)
	case map[string]any:
		return "table of " + fmt.Sprint(len(v)), nestedText(v)
	default:
		return fmt.Sprintf("%T", v), fmt.Sprint(v)
	}
}

// wireTime writes a time of a message, as a date where it is one.
func wireTime(t time.Time) string {
	if dedup.Dated(t) {
		return t.UTC().Format(time.RFC3339)
	}
	return wireSeconds(t) + " seconds after 1970, beyond the year 9999"
}

// wireSeconds are the seconds of a time as the message holds them.
func wireSeconds(t time.Time) string { return strconv.FormatUint(uint64(t.Unix()), 10) }

// nestedText writes tables and lists in one line, up to shownHeaders bytes. What is left out of it is shown as an ellipsis.
func nestedText(v any) string {
	text, size := nested(v)
	if len(text) < size {
		text += "…"
	}
	return text
}

// nestedSize is how many bytes a table or list has when it is written out; 0 for any other value.
func nestedSize(v any) int {
	switch v.(type) {
	case map[string]any, []any:
		_, size := nested(v)
		return size
	}
	return 0
}

// nested writes the first shownHeaders bytes of a table or list, and counts all of them.
func nested(v any) (text string, size int) {
	var b strings.Builder
	put := func(s string) {
		b.WriteString(firstBytes(s, max(0, min(len(s), shownHeaders-size))))
		size += len(s)
	}
	var write func(any, int)
	write = func(v any, depth int) {
		if depth > deepestHeader {
			put("…")
			return
		}
		switch v := v.(type) {
		case map[string]any:
			for i, name := range slices.Sorted(maps.Keys(v)) {
				if i > 0 {
					put(", ")
				}
				put(name + "=")
				write(v[name], depth+1)
			}
		case []any:
			for i, x := range v {
				if i > 0 {
					put("; ")
				}
				write(x, depth+1)
			}
		default:
			_, text := headerText(v)
			put(text)
		}
	}
	write(v, 0)
	return b.String(), size
}

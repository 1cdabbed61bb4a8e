package message

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"dedup-dashboard/internal/admin/deadletter"

	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// wholeLimit is longer than any property or name of the protocol, escapes included: such texts are shown whole.
const wholeLimit = 2000

// headerLines shows the headers of a letter but for the death history, and says what of them is left out. Long values are shown
// whole, folded up; where there is too much of them the largest are cut.
func headerLines(l deadletter.Letter) (lines []templates.HeaderLine, note string) {
	long := map[int]longValue{} // by their line
	more := 0
	for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
		if name == message.HeaderDeaths { // the death history stands above
			continue
		}
		if len(lines) == letter.MaxHeaders {
			more++
			continue
		}
		typ, value := letter.HeaderText(l.Headers[name])
		if utf8.RuneCountInString(value) > show.PartLimit || strings.ContainsAny(value, "\r\n") {
			long[len(lines)] = longValue{value, max(len(value), letter.NestedSize(l.Headers[name]))}
			value = beginning(value)
		}
		lines = append(lines, templates.HeaderLine{Name: show.Key(name), Type: typ, Value: show.Part(value), Rule: headerRule(name)})
	}
	if unfold(lines, long) {
		note = "The values of all headers together are shown up to " + templates.Bytes(letter.ShownHeaders) + "."
	}
	if more > 0 {
		note = strings.TrimSpace(note + " " + show.Counted(more, "more header") + " " + show.Plural(more, "is", "are") + " not shown.")
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
	left := letter.ShownHeaders
	order := slices.SortedFunc(maps.Keys(long), func(a, b int) int { return cmp.Or(cmp.Compare(long[a].size, long[b].size), cmp.Compare(a, b)) })
	for _, i := range order {
		shown := letter.FirstBytes(long[i].text, left)
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
	case message.IsOwnHeader(name):
		return "written anew"
	case message.IsBrokerHeader(name):
		return "left out"
	default:
		return "kept"
	}
}

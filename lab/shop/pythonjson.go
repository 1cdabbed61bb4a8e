package shop

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
)

// A field is one member of a JSON object whose order matters.
type field struct {
	name  string
	value any
}

// pythonJSON writes a value exactly as Python's json.dumps does by default: a blank after each colon and comma, and
// every character outside ASCII as \u and four digits. It knows string, int, float64 and []field.
func pythonJSON(value any) string {
	var out strings.Builder
	writePythonJSON(&out, value)
	return out.String()
}

func writePythonJSON(out *strings.Builder, value any) {
	switch value := value.(type) {
	case string:
		writePythonString(out, value)
	case int:
		out.WriteString(strconv.Itoa(value))
	case float64:
		out.WriteString(pythonFloat(value))
	case []field:
		out.WriteByte('{')
		for i, member := range value {
			if i > 0 {
				out.WriteString(", ")
			}
			writePythonString(out, member.name)
			out.WriteString(": ")
			writePythonJSON(out, member.value)
		}
		out.WriteByte('}')
	default:
		out.WriteString("null")
	}
}

func writePythonString(out *strings.Builder, text string) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}
	out.WriteByte('"')
	for _, char := range text {
		switch escape, known := short[char]; {
		case known:
			out.WriteString(escape)
		case char >= ' ' && char <= '~':
			out.WriteRune(char)
		default:
			for _, unit := range utf16.AppendRune(nil, char) {
				fmt.Fprintf(out, `\u%04x`, unit)
			}
		}
	}
	out.WriteByte('"')
}

// pythonFloat is Python's repr of a float: the shortest digits that read back the same, positional from 1e-4 up to
// 1e16 and always with a point, scientific outside.
func pythonFloat(value float64) string {
	if magnitude := math.Abs(value); magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16) {
		return strconv.FormatFloat(value, 'e', -1, 64)
	}
	text := strconv.FormatFloat(value, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

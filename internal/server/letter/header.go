package letter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/message"
)

// FirstBytes cuts a text to n bytes, between two characters where it has any.
func FirstBytes(s string, n int) string {
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

const (
	// MaxHeaders bounds a table of headers, ShownHeaders the bytes of all their values together: a frame of RabbitMQ has 128 KiB unless configured.
	MaxHeaders   = 200
	ShownHeaders = 256 << 10
	// deepestHeader is how deep a table in a header is written out.
	deepestHeader = 32
)

// HeaderText writes the value of a header with the name of its AMQP type.
func HeaderText(v any) (typ, text string) {
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
		return "timestamp", WireTime(v)
	case message.Decimal:
		return "decimal", fmt.Sprintf("%d × 10^-%d", v.Value, v.Scale)
	case []any:
		return "list of " + fmt.Sprint(len(v)), NestedText(v)
	case map[string]any:
		return "table of " + fmt.Sprint(len(v)), NestedText(v)
	default:
		return fmt.Sprintf("%T", v), fmt.Sprint(v)
	}
}

// WireTime writes a time of a message, as a date where it is one.
func WireTime(t time.Time) string {
	if message.Dated(t) {
		return t.UTC().Format(time.RFC3339)
	}
	return WireSeconds(t) + " seconds after 1970, beyond the year 9999"
}

// WireSeconds are the seconds of a time as the message holds them.
func WireSeconds(t time.Time) string { return strconv.FormatUint(uint64(t.Unix()), 10) }

// NestedText writes tables and lists in one line, up to ShownHeaders bytes. What is left out of it is shown as an ellipsis.
func NestedText(v any) string {
	text, size := nested(v)
	if len(text) < size {
		text += "…"
	}
	return text
}

// NestedSize is how many bytes a table or list has when it is written out; 0 for any other value.
func NestedSize(v any) int {
	switch v.(type) {
	case map[string]any, []any:
		_, size := nested(v)
		return size
	}
	return 0
}

// nested writes the first ShownHeaders bytes of a table or list, and counts all of them.
func nested(v any) (text string, size int) {
	var b strings.Builder
	put := func(s string) {
		b.WriteString(FirstBytes(s, max(0, min(len(s), ShownHeaders-size))))
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
			_, text := HeaderText(v)
			put(text)
		}
	}
	write(v, 0)
	return b.String(), size
}

// PrettyJSON indents a body that is JSON, without touching its values.
func PrettyJSON(body []byte) ([]byte, bool) {
	if len(body) == 0 || len(body) > 1<<20 || !json.Valid(body) {
		return nil, false
	}
	var out bytes.Buffer
	if err := json.Indent(&out, body, "", "  "); err != nil {
		return nil, false
	}
	return out.Bytes(), true
}

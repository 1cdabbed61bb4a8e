package deadletter

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/message"
)

// Matches reports whether a letter meets every term.
func (f Filter) Matches(l Letter) bool {
	for _, t := range f.terms {
		if t.matches(&l) == t.not {
			return false
		}
	}
	return true
}

// Reads reports whether the filter looks at a field.
func (f Filter) Reads(field string) bool {
	for _, t := range f.terms {
		if t.field == field {
			return true
		}
	}
	return false
}

func (t term) matches(l *Letter) bool {
	switch t.field {
	case FieldBody:
		return bytes.Contains(l.shownBody(), []byte(t.value))
	case FieldHeader:
		text, _ := HeaderWord(l.Headers[t.header])
		return t.compare(text)
	case fieldBefore:
		died := l.LastDied()
		return !died.IsZero() && died.Before(t.at)
	case fieldAfter:
		died := l.LastDied()
		return !died.IsZero() && !died.Before(t.at)
	case fieldRequeues:
		return l.Requeues >= t.least
	}
	return t.compare(wordOf(l, t.field))
}

func (t term) compare(text string) bool {
	if t.prefix {
		return strings.HasPrefix(text, t.value)
	}
	return text == t.value
}

// wordOf returns what a letter has in a text field; empty when it has nothing.
func wordOf(l *Letter, field string) string {
	switch field {
	case fieldReason:
		if len(l.Deaths) > 0 {
			return clipValue(l.Deaths[0].Reason)
		}
	case fieldSource:
		source, _ := l.Source()
		return clipValue(source)
	case fieldExchange:
		return clipValue(cameBy(l).exchange)
	case fieldRoute:
		return clipValue(cameBy(l).key)
	case FieldType:
		return clipValue(l.MessageType())
	case fieldID:
		return clipValue(l.ID)
	case FieldException:
		return clipValue(l.Exception)
	case FieldClass:
		return string(l.Prediction.Class)
	}
	return ""
}

// route is how a message was published.
type route struct{ exchange, key string }

// cameBy returns how a message was published before its newest death; without a death how it came into its queue.
func cameBy(l *Letter) route {
	if len(l.Deaths) == 0 {
		return route{l.Exchange, l.RoutingKey}
	}
	return route{l.Deaths[0].Exchange, strings.Join(l.Deaths[0].RoutingKeys, ",")}
}

// longestValue is the most bytes that a value takes in a filter, quotes included: an exchange and a route fit into one.
const longestValue = 400

// clipValue returns a value that fits into a filter: one that does not is cut and ends in its hash, so that no two of them
// look the same.
func clipValue(s string) string {
	if len(s) <= longestValue && len(strconv.QuoteToGraphic(s)) <= longestValue {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	head := admin.Printable(s[:min(len(s), 200)], 100)
	return head + "…sha256:" + hex.EncodeToString(sum[:8])
}

// HeaderWord returns a header as text; false for tables, lists and what is absent.
func HeaderWord(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	case bool:
		return strconv.FormatBool(v), true
	case time.Time:
		return v.UTC().Format(time.RFC3339), true
	case message.Decimal, float32, float64, int8, uint8, int16, uint16, int32, uint32, int64, uint64, int:
		return fmt.Sprint(v), true
	}
	return "", false
}

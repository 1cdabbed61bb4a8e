package live

import (
	"bytes"
	"strconv"
	"strings"
)

// labels are those of a row that matter here.
type labels struct{ channel, vhost, queue string }

// escaping says how a broker writes a quote or a backslash within a label.
type escaping int

const (
	// escapesUnknown is that of 3.11 and 3.12, some of which escape (rabbitmq-server #9656): what can be read as escaped is.
	escapesUnknown escaping = iota
	escapes
	// escapesNothing is that of 3.10: the label of the queue a"b is queue="a"b".
	escapesNothing
)

// escapingOf tells from the version of a broker.
func escapingOf(version string) escaping {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, err := strconv.Atoi(major)
	n, errMinor := strconv.Atoi(minor)
	switch {
	case err != nil || errMinor != nil:
		return escapesUnknown
	case m > 3 || m == 3 && n >= 13:
		return escapes
	case m == 3 && n >= 11:
		return escapesUnknown
	default:
		return escapesNothing
	}
}

// readLabels reads the text between { and }; false when the queue cannot be told.
func readLabels(text string, how escaping) (labels, bool) {
	if how == escapesNothing && strings.IndexByte(text, '\\') >= 0 {
		return unescaped(text)
	}
	if found, ok := escaped(text); ok {
		return found, found.queue != "" || strings.Contains(text, `queue=""`)
	}
	if how == escapes {
		return labels{}, false
	}
	return unescaped(text)
}

// escaped reads labels as Prometheus writes them, in any order. Of a label that is there twice, as in 4.0.0, the first counts.
func escaped(text string) (found labels, ok bool) {
	have := make(map[string]bool, 4)
	for text != "" {
		name, rest, ok := strings.Cut(text, `="`)
		if !ok || strings.ContainsAny(name, `",{}\`) {
			return labels{}, false
		}
		value, rest, ok := cutValue(rest)
		if !ok {
			return labels{}, false
		}
		if !have[name] {
			have[name] = true
			switch name {
			case "channel":
				found.channel = value
			case "vhost":
				found.vhost = value
			case "queue":
				found.queue = value
			}
		}
		if rest == "" {
			break
		}
		if rest[0] != ',' {
			return labels{}, false
		}
		text = rest[1:]
	}
	return found, have["vhost"] && have["queue"]
}

// cutValue reads a value up to its closing quote.
func cutValue(text string) (value, rest string, ok bool) {
	end := strings.IndexAny(text, `"\`)
	if end >= 0 && text[end] == '"' {
		return text[:end], text[end+1:], true
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], true
		case c != '\\':
			b.WriteByte(c)
		case i+1 == len(text):
			return "", "", false
		default:
			i++
			switch text[i] {
			case 'n':
				b.WriteByte('\n')
			case '\\', '"':
				b.WriteByte(text[i])
			default:
				return "", "", false
			}
		}
	}
	return "", "", false
}

// unescaped reads channel, vhost and queue, in the order of 3.10 to 3.12, where a value may hold what ends one. It is false
// where that leaves two ways to read them.
func unescaped(text string) (labels, bool) {
	const first, second, third = `channel="`, `",vhost="`, `",queue="`
	channel, rest, ok := strings.Cut(strings.TrimPrefix(text, first), second)
	if !ok || !strings.HasPrefix(text, first) || !strings.HasSuffix(rest, `"`) || strings.Count(rest, third) != 1 {
		return labels{}, false
	}
	vhost, queue, _ := strings.Cut(strings.TrimSuffix(rest, `"`), third)
	return labels{channel: channel, vhost: vhost, queue: queue}, true
}

// labelOf returns the value of one label of a line whose values hold nothing to escape.
func labelOf(text []byte, name string) string { return string(labelIn(text, name)) }

// labelIn is labelOf, within the line.
func labelIn(text []byte, name string) []byte {
	_, rest, ok := bytes.Cut(text, []byte(name+`="`))
	value, _, closed := bytes.Cut(rest, []byte{'"'})
	if !ok || !closed {
		return nil
	}
	return value
}

package events

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// What a server may send at most before we take it for no Redis: a key can have 512 MB, but no id of a message has.
const (
	longestBulk = 8 << 20
	mostItems   = 1 << 16
	deepest     = 8
)

// errWire says that what came is not RESP3.
var errWire = errors.New("the answer is not RESP3")

// wireValue is one value of RESP3 (https://github.com/redis/redis-specifications/blob/master/protocol/RESP3.md). A map is
// its keys and values in turn.
type wireValue struct {
	// kind is the first byte: + - : $ = * > % ~ _ # , (
	kind  byte
	text  string
	items []wireValue
}

// failed returns the error that a server answered, nil where it answered something else.
func (v wireValue) failed() error {
	if v.kind == '-' || v.kind == '!' {
		return wireError(v.text)
	}
	return nil
}

// field returns the value behind a key of a map.
func (v wireValue) field(key string) (wireValue, bool) {
	for i := 0; i+1 < len(v.items); i += 2 {
		if v.items[i].text == key {
			return v.items[i+1], true
		}
	}
	return wireValue{}, false
}

// wireError is an error answer of the server. It is a redis.Error, so that the explainer words it.
type wireError string

// Error returns the answer as it came.
func (e wireError) Error() string { return string(e) }

// RedisError marks the type as an answer of the server.
func (wireError) RedisError() {}

// readWire reads one value. Attributes, which say something about the next value, are skipped.
func readWire(r *bufio.Reader) (wireValue, error) { return readWireAt(r, 0) }

func readWireAt(r *bufio.Reader, depth int) (wireValue, error) {
	if depth > deepest {
		return wireValue{}, fmt.Errorf("%w: nested too deep", errWire)
	}
	kind, rest, err := readLine(r)
	if err != nil {
		return wireValue{}, err
	}
	switch kind {
	case '+', '-', ':', ',', '(', '#', '_':
		return wireValue{kind: kind, text: string(rest)}, nil
	case '$', '=', '!':
		return readBulk(r, kind, rest)
	case '*', '>', '~', '%', '|':
		return readItems(r, kind, rest, depth)
	}
	return wireValue{}, fmt.Errorf("%w: a value begins with byte %#x", errWire, kind)
}

// readLine returns the first byte of a line and what follows it, valid until the next read.
func readLine(r *bufio.Reader) (byte, []byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return 0, nil, fmt.Errorf("%w: a line has more than %d bytes", errWire, len(line))
	}
	if err != nil {
		return 0, nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return 0, nil, fmt.Errorf("%w: a line without its end", errWire)
	}
	return line[0], line[1 : len(line)-2], nil
}

func readBulk(r *bufio.Reader, kind byte, length []byte) (wireValue, error) {
	n, err := strconv.Atoi(string(length))
	if err == nil && n == -1 {
		return wireValue{kind: '_'}, nil
	}
	if err != nil || n < 0 {
		return wireValue{}, fmt.Errorf("%w: a length that is none", errWire)
	}
	if n > longestBulk {
		return wireValue{}, fmt.Errorf("%w: a text of more than %d MiB", errWire, longestBulk>>20)
	}
	if n+2 <= r.Size() {
		// The common case copies once.
		text, err := r.Peek(n + 2)
		if err != nil {
			return wireValue{}, err
		}
		v := wireValue{kind: kind, text: string(text[:n])}
		_, err = r.Discard(n + 2)
		return trimmed(v), err
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(r, text); err != nil {
		return wireValue{}, err
	}
	return trimmed(wireValue{kind: kind, text: string(text[:n])}), nil
}

// trimmed takes the format off a verbatim string: txt: and mkd: stand in front of it.
func trimmed(v wireValue) wireValue {
	if v.kind == '=' && len(v.text) >= 4 && v.text[3] == ':' {
		v.text = v.text[4:]
	}
	return v
}

func readItems(r *bufio.Reader, kind byte, length []byte, depth int) (wireValue, error) {
	n, err := strconv.Atoi(string(length))
	if err == nil && n == -1 {
		return wireValue{kind: '_'}, nil
	}
	if err != nil || n < 0 || n > mostItems {
		return wireValue{}, fmt.Errorf("%w: a list of %q", errWire, length)
	}
	if kind == '%' || kind == '|' {
		n *= 2
	}
	// What is not there yet is not made room for: a length is a claim.
	v := wireValue{kind: kind, items: make([]wireValue, 0, min(n, 16))}
	for range n {
		item, err := readWireAt(r, depth+1)
		if err != nil {
			return wireValue{}, err
		}
		v.items = append(v.items, item)
	}
	if kind == '|' {
		return readWireAt(r, depth+1)
	}
	return v, nil
}

// appendCommand appends a command as an array of bulk strings.
func appendCommand(to []byte, words ...string) []byte {
	to = append(to, '*')
	to = strconv.AppendInt(to, int64(len(words)), 10)
	to = append(to, '\r', '\n')
	for _, w := range words {
		to = append(to, '$')
		to = strconv.AppendInt(to, int64(len(w)), 10)
		to = append(to, '\r', '\n')
		to = append(to, w...)
		to = append(to, '\r', '\n')
	}
	return to
}

// notification takes the key and the name of the event out of a push, and says whether it is one for a keyspace channel
// with this prefix.
func (v wireValue) notification(prefix string) (key, event string, ok bool) {
	if v.kind != '>' || len(v.items) != 4 || v.items[0].text != "pmessage" {
		return "", "", false
	}
	channel := v.items[2].text
	if len(channel) < len(prefix) || channel[:len(prefix)] != prefix {
		return "", "", false
	}
	return channel[len(prefix):], v.items[3].text, true
}

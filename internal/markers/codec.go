package markers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
)

// The codecs of keys and values.
const (
	codecRaw      = "raw"
	codecJSON     = "json"
	codecJava     = "java"
	codecQuoted   = "json-quoted"
	codecRedisson = "redisson"
	codecToken    = "token"
)

// The units of a time in a value.
const (
	unitSeconds = "s"
	unitMillis  = "ms"
)

const (
	// anyValue stands for every value that no other state lists.
	anyValue = "any"
	// wholeValue is the path of a value that is itself the time.
	wholeValue = "$"
)

// valueBytes is how much of a value is read: enough for a status that comes first, and little of a result beside it.
const valueBytes = 512

// codec turns a value, or the beginning of it, into a state.
type codec struct {
	states map[string]dedup.State
	// any is the state of a value that states does not list, empty where there is none.
	any dedup.State
	// bare says that a value may be a state as it stands although the codec is another.
	bare   bool
	unwrap func(value string) (string, error)
	// path leads to the state in a JSON value, timePath to the time; nil for the whole value.
	path     []string
	timePath []string
	hasTime  bool
	unit     time.Duration
}

// decoded is what a value says. Detail says why the state is unknown, without a byte of the value; sample is its beginning.
type decoded struct {
	state  dedup.State
	status string
	// at is the time that the value holds, zero where there is none.
	at     time.Time
	detail string
	sample string
	// owner names who holds a lock.
	owner string
}

func newCodec(c Config) (codec, error) {
	k := codec{states: map[string]dedup.State{}, unwrap: unwrappers[c.Value.Codec], bare: c.Value.Codec == codecJSON}
	for state, values := range c.States {
		for _, v := range values {
			if state == dedup.Present && v == anyValue {
				k.any = state
				continue
			}
			k.states[v] = state
		}
	}
	var err error
	if c.Value.Path != "" {
		if k.path, err = parsePath(c.Value.Path); err != nil {
			return codec{}, err
		}
	}
	k.hasTime, k.unit = c.Value.Time != "", time.Millisecond
	if c.Value.TimeUnit == unitSeconds {
		k.unit = time.Second
	}
	if k.hasTime && c.Value.Time != wholeValue {
		k.timePath, err = parsePath(c.Value.Time)
	}
	return k, err
}

// unwrappers take the text out of a value, by codec.
var unwrappers = map[string]func(string) (string, error){
	codecRaw:    func(value string) (string, error) { return value, nil },
	codecJSON:   func(value string) (string, error) { return value, nil },
	codecJava:   javaText,
	codecQuoted: quotedText,
}

// decode returns what a value says.
func (k codec) decode(value string) decoded {
	if state, ok := k.states[value]; ok && k.bare {
		return decoded{state: state, status: value}
	}
	text, err := k.unwrap(value)
	if err != nil {
		return unknown(err.Error()).in(value)
	}
	d := decoded{status: text}
	if k.path != nil {
		if d.status, err = jsonMember(text, k.path); err != nil {
			return unknown(err.Error()).in(text)
		}
	}
	switch state, ok := k.states[d.status]; {
	case ok:
		d.state = state
	case k.any != "":
		// Any value will do, so that it is none of a status.
		d.state, d.status = k.any, ""
	case k.path != nil:
		return unknown("no state has the value at $." + strings.Join(k.path, ".")).in(d.status)
	default:
		return unknown("no state has the value" + hint(value, text)).in(text)
	}
	if !k.hasTime {
		return d
	}
	d.at, err = k.time(text)
	if err != nil && k.timePath == nil {
		return unknown(err.Error()).in(text)
	}
	return d
}

func unknown(why string) decoded { return decoded{state: dedup.StateUnknown, detail: why} }

// in adds the text that could not be read.
func (d decoded) in(text string) decoded {
	d.sample = printable(text)
	return d
}

// hint names the codec that a value seems to be written with.
func hint(value, text string) string {
	switch {
	case value != text:
	case strings.HasPrefix(value, javaStream):
		return "; value.codec java reads what Java's serialiser wrote"
	case strings.HasPrefix(value, `"`), strings.HasPrefix(value, `["java.`):
		return "; value.codec json-quoted reads what Jackson wrote"
	}
	return ""
}

// earliest and latest bound the times that a value can mean: a number outside is an id or of another unit.
var (
	earliest = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// time reads the time out of a value, in its unit since 1970.
func (k codec) time(text string) (time.Time, error) {
	if k.timePath != nil {
		var err error
		if text, err = jsonMember(text, k.timePath); err != nil {
			return time.Time{}, err
		}
	}
	whole, fraction, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n < 0 || n > latest.UnixMilli() || len(fraction) > 9 || strings.Trim(fraction, "0123456789") != "" {
		return time.Time{}, errors.New("no time since 1970")
	}
	nanos, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	at := time.UnixMilli(n)
	if k.unit == time.Second {
		at = time.Unix(n, nanos)
	}
	if at.Before(earliest) || at.After(latest) {
		return time.Time{}, errors.New("no time of this century in " + k.unit.String()[1:])
	}
	return at, nil
}

var pathPattern = regexp.MustCompile(`^\$(\.[^.\[\]*]+)+$`)

// parsePath reads a JSON path of member names only, such as $.status or $.meta.state.
func parsePath(path string) ([]string, error) {
	if !pathPattern.MatchString(path) {
		return nil, fmt.Errorf("%q is not a path: write $.name or $.name.name", path)
	}
	return strings.Split(path[2:], "."), nil
}

// jsonMember returns the scalar at the path of a JSON object whose end may be cut off. Nothing behind the member is
// looked at, so a result of any size may follow it.
func jsonMember(text string, path []string) (string, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for depth := 0; ; depth++ {
		if t, err := d.Token(); err != nil || t != json.Delim('{') {
			return "", missing(err, text, "no JSON object")
		}
		if err := seek(d, path[depth]); err != nil {
			return "", missing(err, text, "no member "+strings.Join(path, "."))
		}
		if depth < len(path)-1 {
			continue
		}
		t, err := d.Token()
		if err != nil {
			return "", missing(err, text, "broken JSON")
		}
		if text, ok := scalar(t); ok {
			return text, nil
		}
		return "", errors.New("no plain value at " + strings.Join(path, "."))
	}
}

// quotedText returns the text of a single JSON scalar, as Jackson writes it, with or without its class before it:
// "1", 1734400000123, ["java.lang.Long",1734400000123].
func quotedText(value string) (string, error) {
	d := json.NewDecoder(strings.NewReader(value))
	d.UseNumber()
	t, err := d.Token()
	typed := err == nil && t == json.Delim('[')
	if typed {
		if class, ok := next(d).(string); !ok || class == "" {
			return "", errors.New("no class in front of the value")
		}
		t, err = d.Token()
	}
	text, ok := scalar(t)
	if err != nil || !ok || typed && next(d) != json.Delim(']') {
		return "", errors.New("no single JSON string or number")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("more than one JSON value")
	}
	return text, nil
}

// next returns the next token, nil at the end and where the text is no JSON.
func next(d *json.Decoder) json.Token {
	t, err := d.Token()
	if err != nil {
		return nil
	}
	return t
}

// scalar returns a string, number or truth value as text.
func scalar(t json.Token) (string, bool) {
	switch v := t.(type) {
	case string:
		return v, true
	case json.Number, bool:
		return fmt.Sprint(v), true
	}
	return "", false
}

var errNoMember = errors.New("no such member")

// seek reads an object up to the value of the named member.
func seek(d *json.Decoder, name string) error {
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		if t == name {
			return nil
		}
		if err := skip(d); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	return errNoMember
}

// skip reads one value of any depth.
func skip(d *json.Decoder) error {
	for depth := 0; ; {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// missing words a failure to read JSON: a value that was cut tells nothing, a whole one is at fault.
func missing(err error, text, what string) error {
	if len(text) >= valueBytes && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return fmt.Errorf("%s within the first %d bytes", what, valueBytes)
	}
	return errors.New(what)
}

// printable shows hostile text on one line: at most 80 bytes, control, bidi and invalid bytes escaped.
func printable(text string) string {
	const limit = 80
	if len(text) <= limit {
		return strconv.Quote(text)
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strconv.Quote(text[:cut]) + "…"
}

package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// The codecs of keys and values.
const (
	Raw      = "raw"
	JSON     = "json"
	Java     = "java"
	Quoted   = "json-quoted"
	Redisson = "redisson"
	Token    = "token"
)

// The units of a time in a value.
const (
	Seconds = "s"
	Millis  = "ms"
)

const (
	// AnyValue stands for every value that no other state lists.
	AnyValue = "any"
	// WholeValue is the path of a value that is itself the time.
	WholeValue = "$"
)

// ValueBytes is how much of a value is read: enough for a status that comes first, and little of a result beside it.
const ValueBytes = 512

// Codec turns a value, or the beginning of it, into a state.
type Codec struct {
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

// Decoded is what a value says. Detail says why the state is unknown, without a byte of the value; sample is its beginning.
type Decoded struct {
	State  dedup.State
	Status string
	// At is the time that the value holds, zero where there is none.
	At     time.Time
	Detail string
	Sample string
	// Owner names who holds a lock.
	Owner string
}

// New returns the codec for values that are written so, with the values of each state.
func New(v Value, states map[dedup.State][]string) (Codec, error) {
	k := Codec{states: map[string]dedup.State{}, unwrap: unwrappers[v.Codec], bare: v.Codec == JSON}
	for state, values := range states {
		for _, value := range values {
			if state == dedup.Present && value == AnyValue {
				k.any = state
				continue
			}
			k.states[value] = state
		}
	}
	var err error
	if v.Path != "" {
		if k.path, err = ParsePath(v.Path); err != nil {
			return Codec{}, err
		}
	}
	k.hasTime, k.unit = v.Time != "", time.Millisecond
	if v.TimeUnit == Seconds {
		k.unit = time.Second
	}
	if k.hasTime && v.Time != WholeValue {
		k.timePath, err = ParsePath(v.Time)
	}
	return k, err
}

// unwrappers take the text out of a value, by codec.
var unwrappers = map[string]func(string) (string, error){
	Raw:    func(value string) (string, error) { return value, nil },
	JSON:   func(value string) (string, error) { return value, nil },
	Java:   javaText,
	Quoted: quotedText,
}

// Decode returns what a value says.
func (k Codec) Decode(value string) Decoded {
	if state, ok := k.states[value]; ok && k.bare {
		return Decoded{State: state, Status: value}
	}
	text, err := k.unwrap(value)
	if err != nil {
		return Unknown(err.Error()).WithSample(value)
	}
	d := Decoded{Status: text}
	if k.path != nil {
		if d.Status, err = jsonMember(text, k.path); err != nil {
			return Unknown(err.Error()).WithSample(text)
		}
	}
	switch state, ok := k.states[d.Status]; {
	case ok:
		d.State = state
	case k.any != "":
		// Any value will do, so that it is none of a status.
		d.State, d.Status = k.any, ""
	case k.path != nil:
		return Unknown("no state has the value at $." + strings.Join(k.path, ".")).WithSample(d.Status)
	default:
		return Unknown("no state has the value" + hint(value, text)).WithSample(text)
	}
	if !k.hasTime {
		return d
	}
	d.At, err = k.time(text)
	if err != nil && k.timePath == nil {
		return Unknown(err.Error()).WithSample(text)
	}
	return d
}

// Unknown is what a value says that cannot be decoded, and why.
func Unknown(why string) Decoded { return Decoded{State: dedup.StateUnknown, Detail: why} }

// WithSample adds the text that could not be read.
func (d Decoded) WithSample(text string) Decoded {
	d.Sample = Printable(text)
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
func (k Codec) time(text string) (time.Time, error) {
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

// ParsePath reads a JSON path of member names only, such as $.status or $.meta.state.
func ParsePath(path string) ([]string, error) {
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
	if len(text) >= ValueBytes && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return fmt.Errorf("%s within the first %d bytes", what, ValueBytes)
	}
	return errors.New(what)
}

// PlainJSON writes texts as JSON, on one line and with <, > and & as they are.
func PlainJSON[T []string | map[string]string | map[string]*string](texts T) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(texts) // texts always encode
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// Printable shows hostile text on one line: at most 80 bytes, control, bidi and invalid bytes escaped.
func Printable(s string) string { return text.Quoted(s, 80) }

// Key says how the keys of markers and retry counters are encoded: codec raw takes the bytes as they are; codec java
// reads what Java's own serialiser makes of a string, as a RedisTemplate without configuration does.
type Key struct {
	Codec string `yaml:"codec"`
}

// Value says how a marker's value is decoded. Codec raw takes the bytes as they are. Codec json takes the member at Path,
// as in $.status, and falls back to the bytes where they are a state as they stand. Codec java reads a string or number
// that Java's own serialiser wrote, and then the member at Path if there is one. Codec json-quoted reads a single JSON
// string or number, with or without the type that Jackson puts in front of it. Kind redis-lock has codec redisson, a hash
// of client:thread to count, and codec token, a string that names the owner.
type Value struct {
	Codec string `yaml:"codec"`
	Path  string `yaml:"path"`
	// Time is the path of the time at which the state began, or $ where the value itself is that time; empty when the
	// value holds none. TimeUnit is s or ms since 1970.
	Time     string `yaml:"time"`
	TimeUnit string `yaml:"time_unit"`
}

// IsHex reports whether an id is lower-case hexadecimal, as md5 is written.
func IsHex(id string) bool {
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Shown cuts text that is shown but not compared, so that no value fills the memory.
func Shown(text string) string {
	const limit = 256
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// Status returns the text in a value that would be its status, whether a state has it or not.
func (k Codec) Status(value string) (string, error) {
	status, err := k.unwrap(value)
	if err != nil || k.path == nil {
		return status, err
	}
	status, err = jsonMember(status, k.path)
	if err != nil && k.bare {
		return value, nil
	}
	return status, err
}

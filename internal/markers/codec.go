package markers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"dedup-dashboard/internal/dedup"
)

const (
	codecRaw  = "raw"
	codecJSON = "json"
)

// valueBytes is how much of a value is read: enough for a status that comes first, and little of a result beside it.
const valueBytes = 512

// codec turns the beginning of a value into a state.
type codec struct {
	states map[string]dedup.State
	// path leads to the state in a JSON value; nil for raw values.
	path []string
}

func newCodec(c Config) (codec, error) {
	k := codec{states: map[string]dedup.State{}}
	for state, values := range c.States {
		for _, v := range values {
			k.states[v] = state
		}
	}
	if c.Value.Codec == codecJSON {
		path, err := parsePath(c.Value.Path)
		if err != nil {
			return codec{}, err
		}
		k.path = path
	}
	return k, nil
}

// decode returns the state of a value, or StateUnknown and why.
func (k codec) decode(value string) (dedup.State, string) {
	if state, ok := k.states[value]; ok {
		return state, ""
	}
	if k.path == nil {
		return dedup.StateUnknown, "no state has the value " + printable(value)
	}
	text, err := jsonMember(value, k.path)
	if err != nil {
		return dedup.StateUnknown, fmt.Sprintf("%v in %s", err, printable(value))
	}
	if state, ok := k.states[text]; ok {
		return state, ""
	}
	return dedup.StateUnknown, fmt.Sprintf("no state has the value %s at $.%s", printable(text), strings.Join(k.path, "."))
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
		switch v := t.(type) {
		case string:
			return v, nil
		case json.Number, bool:
			return fmt.Sprint(v), nil
		}
		return "", errors.New("no plain value at " + strings.Join(path, "."))
	}
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

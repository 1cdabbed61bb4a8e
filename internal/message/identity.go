package message

import (
	"crypto/md5" // #nosec: a name that consumers chose, not a protection
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// LongestID is the longest message id in bytes that is looked for in a store: a key that is longer cannot be acted on.
const LongestID = 4096

// The places that an id can come from, as id.from names them.
const (
	fromMessageID = "message_id"
	fromBody      = "md5(body)"
	fromHeader    = "header:"
	fromJSON      = "json:"
	// orElse stands between a place and the one that is used where a message has nothing in the first.
	orElse = " else "
)

var (
	headerPattern = regexp.MustCompile(`^[^\s:]\S*$`)
	pathPattern   = regexp.MustCompile(`^\$(\.[A-Za-z0-9_-]+|\[[0-9]{1,9}\])+$`)
	stepPattern   = regexp.MustCompile(`\.([A-Za-z0-9_-]+)|\[([0-9]+)\]`)
	// wholeNumber is a number that every language writes in the same way.
	wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
)

// An IDSource says where consumers take the id of a message from: a parsed id.from. The zero value finds no id.
type IDSource struct {
	text   string
	places []place
}

// place is one place of an IDSource. Of header and path at most one is set; neither of message_id and md5(body).
type place struct {
	name   string
	header string
	path   []pathStep
}

// ParseIDSource reads id.from: message_id, header:NAME, json:$.PATH with names and [n], or md5(body). Several places with
// the word else between them are tried in turn, as consumers do that fall back on a hash: message_id else md5(body).
func ParseIDSource(text string) (IDSource, error) {
	s := IDSource{text: text}
	for name := range strings.SplitSeq(text, orElse) {
		p := place{name: name}
		header, isHeader := strings.CutPrefix(name, fromHeader)
		path, isPath := strings.CutPrefix(name, fromJSON)
		switch {
		case name == fromMessageID, name == fromBody:
		case isHeader && headerPattern.MatchString(header):
			p.header = header
		case isPath && pathPattern.MatchString(path):
			p.path = parsePathSteps(path)
		default:
			return IDSource{}, fmt.Errorf("%q says no place; use message_id, header:NAME, json:$.PATH or md5(body)", name)
		}
		s.places = append(s.places, p)
	}
	return s, nil
}

// FromBody reports whether the id can be the hash of the body: always, or where a message has nothing in the places before.
func (s IDSource) FromBody() bool {
	return slices.ContainsFunc(s.places, func(p place) bool { return p.name == fromBody })
}

// NeedsBody reports whether an id may have to be read from a body.
func (s IDSource) NeedsBody() bool {
	return slices.ContainsFunc(s.places, func(p place) bool { return p.name != fromMessageID && p.header == "" })
}

// String returns id.from as it was written.
func (s IDSource) String() string { return s.text }

// An Identity is the id of a message as its consumers see it, or why there is none.
type Identity struct {
	// ID is empty when no id could be read.
	ID string
	// Absent is true when the message has nothing in the place of the id; false with an empty ID says that something is
	// there which is no id that could be looked for.
	Absent bool
	// Why says in words why there is no id; it holds nothing of the message.
	Why string
}

// ID returns the id of a message, whether it has one that can be looked for, and if not, why in words.
func (s IDSource) ID(m Message) (id string, ok bool, why string) {
	i := s.Identify(m)
	return i.ID, i.ID != "", i.Why
}

// Identify returns the id of a message. An id is a text, or a whole number as every language writes it; it is valid UTF-8
// of at most LongestID bytes, because a consumer that met another one did what cannot be known from here.
func (s IDSource) Identify(m Message) Identity {
	if len(s.places) == 0 {
		return Identity{Absent: true, Why: "nothing says where the id of a message stands"}
	}
	var reasons []string
	for _, p := range s.places {
		i := p.read(m)
		if !i.Absent {
			return i
		}
		reasons = append(reasons, i.Why)
	}
	return Identity{Absent: true, Why: strings.Join(reasons, "; ")}
}

func (p place) read(m Message) Identity {
	switch {
	case p.name == fromMessageID:
		if m.MessageID == "" {
			return Identity{Absent: true, Why: "the message has no message_id"}
		}
		return usable(m.MessageID, "its message_id")
	case p.header == "" && m.LeftOut != nil:
		return Identity{Why: fmt.Sprintf("it stands in the body, whose %d bytes are too many to be kept", m.LeftOut.Size)}
	case p.name == fromBody:
		sum := md5.Sum(m.Body)
		return Identity{ID: hex.EncodeToString(sum[:])}
	case p.header != "":
		return p.fromHeader(m.Headers)
	}
	return p.fromBody(m.Body)
}

func (p place) fromHeader(headers map[string]any) Identity {
	v, ok := headers[p.header]
	if !ok || v == nil {
		return Identity{Absent: true, Why: fmt.Sprintf("the message has no header %s", p.header)}
	}
	text, isText := TextField(v)
	switch {
	case !isText:
		return Identity{Why: fmt.Sprintf("the header %s is %s, which is no id", p.header, kindOfField(v))}
	case text == "":
		return Identity{Absent: true, Why: fmt.Sprintf("the header %s is empty", p.header)}
	}
	return usable(text, "the header "+p.header)
}

func (p place) fromBody(body []byte) Identity {
	value, err := jsonAt(body, p.path)
	if err != nil {
		return Identity{Absent: err == errNoJSONMember, Why: fmt.Sprintf("the body has no %s: %v", strings.TrimPrefix(p.name, fromJSON), err)}
	}
	text, err := jsonID(value)
	switch {
	case err != nil:
		return Identity{Why: fmt.Sprintf("%s of the body %v", strings.TrimPrefix(p.name, fromJSON), err)}
	case text == "":
		return Identity{Absent: true, Why: fmt.Sprintf("%s of the body is empty", strings.TrimPrefix(p.name, fromJSON))}
	}
	return usable(text, strings.TrimPrefix(p.name, fromJSON)+" of the body")
}

// usable refuses what consumers of different languages would write into a store in different ways.
func usable(id, what string) Identity {
	switch {
	case len(id) > LongestID:
		return Identity{Why: fmt.Sprintf("%s has %d bytes; an id has at most %d", what, len(id), LongestID)}
	case !utf8.ValidString(id):
		return Identity{Why: what + " is not valid UTF-8, so that it cannot be known under which key its marker stands"}
	}
	return Identity{ID: id}
}

// TextField returns a field of AMQP that is a text or an integer as text; false for everything else.
func TextField(v any) (string, bool) {
	if n, ok := wholeOf(v); ok {
		return strconv.FormatInt(n, 10), true
	}
	return fieldText(v)
}

// WholeField returns a field of AMQP that is an integer of any width; false for everything else, and for what does not fit.
func WholeField(v any) (int64, bool) { return wholeOf(v) }

// wholeOf returns an integer field of any width; false for everything else, and for what does not fit.
func wholeOf(v any) (int64, bool) {
	switch n := v.(type) {
	case int8:
		return int64(n), true
	case uint8:
		return int64(n), true
	case int16:
		return int64(n), true
	case uint16:
		return int64(n), true
	case int32:
		return int64(n), true
	case uint32:
		return int64(n), true
	case int64:
		return n, true
	case int:
		return int64(n), true
	case uint64:
		return int64(n), n <= 1<<63-1
	}
	return 0, false
}

package digest

import (
	"errors"
	"strings"
)

// A Server says whose texts are read.
type Server uint8

// The servers.
const (
	MySQL Server = iota // MariaDB too
	Postgres
)

// errUnreadable says that a text is none that the server would have written.
var errUnreadable = errors.New("the text cannot be read")

type tokenKind uint8

const (
	word  tokenKind = iota // as it stands, in capitals
	name                   // a quoted identifier, without its quotes
	sign                   // one character, or what stands for values
	value                  // ?, $1, a number or a string
)

type token struct {
	kind tokenKind
	text string
	// raw is a word as it was written.
	raw string
}

// Signs of MySQL's digests: the values of one row, and of several.
const (
	rowOfValues = "(...)"
	manyRows    = "/*,...*/"
)

// longestText bounds what is read of one statement.
const longestText = 64 << 10

// tokens splits the text of a statement. Comments are left out.
func tokens(s Server, text string) ([]token, error) {
	if len(text) > longestText {
		return nil, errUnreadable
	}
	l := lexer{server: s, text: text}
	for l.at < len(text) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	return l.tokens, nil
}

type lexer struct {
	server Server
	text   string
	at     int
	tokens []token
}

func (l *lexer) rest() string { return l.text[l.at:] }

func (l *lexer) add(k tokenKind, text string, length int) {
	l.tokens = append(l.tokens, token{kind: k, text: text})
	l.at += length
}

func (l *lexer) next() error {
	c := l.text[l.at]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
		l.at++
		return nil
	case c == 0:
		return errUnreadable
	case isWord(c):
		return l.word()
	case l.server == Postgres:
		return l.postgres(c)
	}
	return l.mysql(c)
}

func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

// word takes a word, or a number. What PostgreSQL writes before a quote changes how it reads what follows: none of that is read.
func (l *lexer) word() error {
	end := l.at
	for end < len(l.text) && (isWord(l.text[end]) || l.text[end] == '$') {
		end++
	}
	raw := l.text[l.at:end]
	if l.server == Postgres && end < len(l.text) && (l.text[end] == '\'' || l.text[end] == '&') {
		return errUnreadable
	}
	l.at = end
	if raw[0] >= '0' && raw[0] <= '9' {
		l.tokens = append(l.tokens, token{kind: value, text: raw})
		return nil
	}
	l.tokens = append(l.tokens, token{kind: word, text: upper(raw), raw: raw})
	return nil
}

// upper folds ASCII alone, as both servers do with keywords.
func upper(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

// mysql takes what is no word in a digest: it holds no strings and no comments, and the server puts a mark for more rows.
func (l *lexer) mysql(c byte) error {
	rest := l.rest()
	switch {
	case c == '`':
		return l.quoted('`', false)
	case c == '"' || c == '\'' || c == '#' || strings.HasPrefix(rest, "--"):
		return errUnreadable
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest, "*/")
		if end < 0 || strings.ReplaceAll(rest[2:end], " ", "") != ",..." {
			return errUnreadable
		}
		l.add(sign, manyRows, end+2)
	case strings.HasPrefix(rest, "(?)"):
		l.add(sign, rowOfValues, 3)
	case strings.HasPrefix(rest, rowOfValues):
		l.add(sign, rowOfValues, len(rowOfValues))
	case c == '?':
		l.add(value, "?", 1)
	case strings.HasPrefix(rest, "..."):
		l.add(value, "...", 3)
	default:
		l.add(sign, string(c), 1)
	}
	return nil
}

func (l *lexer) postgres(c byte) error {
	rest := l.rest()
	switch {
	case strings.HasPrefix(rest, "--"):
		end := strings.IndexAny(rest, "\r\n")
		if end < 0 {
			end = len(rest)
		}
		l.at += end
	case strings.HasPrefix(rest, "/*"):
		return l.comment()
	case c == '"':
		return l.quoted('"', true)
	case c == '\'':
		return l.literal()
	case c == '$':
		return l.dollar()
	default:
		l.add(sign, string(c), 1)
	}
	return nil
}

// comment skips a comment; PostgreSQL's may hold others.
func (l *lexer) comment() error {
	depth := 0
	for l.at < len(l.text) {
		switch rest := l.rest(); {
		case strings.HasPrefix(rest, "/*"):
			depth++
			l.at += 2
		case strings.HasPrefix(rest, "*/"):
			depth--
			l.at += 2
			if depth == 0 {
				return nil
			}
		default:
			l.at++
		}
	}
	return errUnreadable
}

// quoted takes an identifier. A digest does not double a quote within one, PostgreSQL's text does.
func (l *lexer) quoted(quote byte, doubled bool) error {
	var b strings.Builder
	for i := l.at + 1; i < len(l.text); i++ {
		switch {
		case l.text[i] != quote:
			b.WriteByte(l.text[i])
		case doubled && i+1 < len(l.text) && l.text[i+1] == quote:
			b.WriteByte(quote)
			i++
		default:
			l.add(name, b.String(), i+1-l.at)
			return nil
		}
	}
	return errUnreadable
}

// literal takes a string without a backslash: with one, its end depends on settings of the session.
func (l *lexer) literal() error {
	for i := l.at + 1; i < len(l.text); i++ {
		switch {
		case l.text[i] == '\\':
			return errUnreadable
		case l.text[i] != '\'':
		case i+1 < len(l.text) && l.text[i+1] == '\'':
			i++
		default:
			l.add(value, "'", i+1-l.at)
			return nil
		}
	}
	return errUnreadable
}

// dollar takes $1, which stands for a value; a string in dollars is not read.
func (l *lexer) dollar() error {
	end := 1
	for rest := l.rest(); end < len(rest) && rest[end] >= '0' && rest[end] <= '9'; {
		end++
	}
	if end == 1 {
		return errUnreadable
	}
	l.add(value, "$", end)
	return nil
}

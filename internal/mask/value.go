package mask

import (
	"slices"
	"strings"
)

// valueEnd returns the end of a value that is hidden. One in quotes ends with them. One without ends with its line, or where the next
// name begins: it can hold spaces and signs. Of one that is a structure no end is sought.
func (w *textMasker) valueEnd(begin int) int {
	s := w.text
	slashes := begin
	for slashes < len(s) && s[slashes] == '\\' {
		slashes++
	}
	switch {
	case begin == len(s):
		return begin
	case slashes < len(s) && (s[slashes] == '"' || s[slashes] == '\'' || s[slashes] == '`'):
		return quoteEnd(s, slashes+1, s[begin:slashes+1])
	case strings.IndexByte("{[(<|>", s[begin]) >= 0 || strings.HasPrefix(s[begin:], "-----"):
		return len(s)
	}
	for i := behindScheme(s, begin); i < len(s); i++ {
		switch s[i] {
		case '\n':
			return i
		case '&', ';', ',', ' ', '\t', ')', '}', ']':
			if beginsPair(s, i+1) {
				return i
			}
		}
	}
	return len(s)
}

// behindScheme goes over the way to sign in and what signs in that a value begins with: Basic dXNlcjpwYXNzd29yZA==.
func behindScheme(s string, begin int) int {
	scheme := nameEnd(s[:min(len(s), begin+len("negotiate")+1)], begin)
	if scheme == len(s) || s[scheme] != ' ' || !slices.Contains([]string{"basic", "bearer", "digest", "negotiate", "token"}, strings.ToLower(s[begin:scheme])) {
		return begin
	}
	if i := strings.IndexAny(s[scheme+1:], " \t\r\n\"',;&"); i >= 0 {
		return scheme + 1 + i
	}
	return len(s)
}

// quoteEnd returns where the value ends whose opening quote was read; the quote may be escaped. Where it is not told for sure what follows
// belongs to the value.
func quoteEnd(s string, begin int, quote string) int {
	for i := begin; i < len(s); {
		n := strings.Index(s[i:], quote)
		if n < 0 {
			return len(s)
		}
		i += n
		after := i + len(quote)
		escaped := i > 0 && s[i-1] == '\\'
		if !escaped && (after == len(s) || strings.IndexByte(" ,;&)}]>\t\r\n\"'\\/.", s[after]) >= 0) && !strings.HasPrefix(s[after:], quote) {
			return after
		}
		i = after
		if strings.HasPrefix(s[after:], quote) && !escaped { // doubled
			i += len(quote)
		}
	}
	return len(s)
}

// beginsPair reports whether a name with its sign begins here, or a few signs further.
func beginsPair(s string, i int) bool {
	for begin := i; i < len(s) && i < begin+4 && !inName(s[i]); i++ {
		if s[i] == '\n' {
			return false
		}
	}
	const longest = 64
	end := nameEnd(s[:min(len(s), i+longest)], i)
	if end == i || end == i+longest {
		return false
	}
	sign, value := signAfter(s, end)
	return sign == '=' || sign == ':' && value > end+1 && (s[value-1] == ' ' || s[min(value, len(s)-1)] == '"')
}

// onNextLine reports whether what follows begins on a line of its own.
func onNextLine(before string) bool {
	return strings.HasSuffix(strings.TrimRight(before, " \t\r"), "\n")
}

// listsPairs reports whether the value of a name that hides is a list of pairs with names of their own, and all of it is hidden: the
// cookies of a browser, what Digest signs in with.
func listsPairs(j judgement, value string) bool {
	quoted := value != "" && strings.IndexByte("\"'`\\", value[0]) >= 0
	return !quoted && (strings.HasSuffix(j.whole, "cookie") || strings.HasSuffix(j.whole, "cookies") || hasPrefixFold(value, "digest "))
}

// indexEnd returns the end of the indexes behind a name, as forms write a member of an object: card[number]. It is where they begin if
// there are none.
func indexEnd(s string, at int) int {
	for at < len(s) {
		open, shut := "[", "]"
		if hasPrefixFold(s[at:], "%5b") {
			open, shut = "%5b", "%5d"
		} else if s[at] != '[' {
			break
		}
		end := nameEnd(s, at+len(open))
		if !hasPrefixFold(s[end:], shut) {
			break
		}
		at = end + len(shut)
	}
	return at
}

// hidingElement reports whether an element begins here whose name hides it: one that was cut has no end that would tell of XML.
func (w *textMasker) hidingElement() bool {
	begin := w.at + 1
	end := nameEnd(w.text, begin)
	if end < len(w.text) && w.text[end] == ':' {
		begin = end + 1
		end = nameEnd(w.text, begin)
	}
	name := w.text[begin:end]
	return end < len(w.text) && strings.IndexByte("> \t\r\n", w.text[end]) >= 0 && !strings.Contains(name, "@") && w.of(name).hidesIn(w.in)
}

// argument hides what follows the name of an argument of a command: --password hunter2.
func (w *textMasker) argument(name string) {
	begin := spaces(w.text, w.at)
	if begin == w.at || begin == len(w.text) || w.text[begin] == '-' || !w.of(name).hidesIn(w.in) {
		return
	}
	end := len(w.text)
	if c := w.text[begin]; c == '"' || c == '\'' {
		end = quoteEnd(w.text, begin+1, string(c))
	} else if i := strings.IndexAny(w.text[begin:], " \t\r\n"); i >= 0 {
		end = begin + i
	}
	w.put(begin, Hidden, end)
	w.hid(name)
}

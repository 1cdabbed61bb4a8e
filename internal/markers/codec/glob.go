package codec

import "strings"

// Glob is a Redis key pattern (https://redis.io/commands/keys): a row of byte sets and stars. A literal byte is a set
// of one and a question mark the set of all, so that matching, overlap and merging need one rule each.
type Glob struct {
	Text   string
	tokens []token
	// Prefix is the literal beginning that every matching key has.
	Prefix string
	// Simple globs are the prefix and one star, the common case.
	Simple bool
}

type token struct {
	star bool
	set  byteSet
}

// byteSet has one bit for each byte value.
type byteSet [4]uint64

func (s *byteSet) add(b byte)     { s[b>>6] |= 1 << (b & 63) }
func (s byteSet) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

func (s byteSet) meets(o byteSet) bool {
	return s[0]&o[0]|s[1]&o[1]|s[2]&o[2]|s[3]&o[3] != 0
}

// without reports whether some byte of s is not in o.
func (s byteSet) without(o byteSet) bool {
	return s[0]&^o[0]|s[1]&^o[1]|s[2]&^o[2]|s[3]&^o[3] != 0
}

func (s byteSet) members() []byte {
	var all []byte
	for b := range 256 {
		if s.has(byte(b)) {
			all = append(all, byte(b))
		}
	}
	return all
}

// ParseGlob reads a pattern as Redis does: any text is one.
func ParseGlob(text string) Glob {
	g := Glob{Text: text}
	for i := 0; i < len(text); i++ {
		var t token
		switch c := text[i]; {
		case c == '*':
			t.star = true
		case c == '?':
			t.set = byteSet{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
		case c == '[':
			t.set, i = parseClass(text, i+1)
		case c == '\\' && i+1 < len(text):
			i++
			t.set.add(text[i])
		default:
			t.set.add(c)
		}
		g.tokens = append(g.tokens, t)
	}
	var prefix []byte
	for _, t := range g.tokens {
		m := t.set.members()
		if t.star || len(m) != 1 {
			break
		}
		prefix = append(prefix, m[0])
	}
	g.Prefix = string(prefix)
	g.Simple = len(g.tokens) == len(prefix)+1 && g.tokens[len(prefix)].star
	return g
}

// parseClass reads a class whose first byte is at i and returns the index of its closing bracket. Like Redis it takes
// the end of the pattern for the bracket if there is none.
func parseClass(text string, i int) (byteSet, int) {
	var set byteSet
	not := i < len(text) && text[i] == '^'
	if not {
		i++
	}
	for ; i < len(text) && text[i] != ']'; i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			set.add(text[i])
		case i+2 < len(text) && text[i+1] == '-':
			low, high := min(text[i], text[i+2]), max(text[i], text[i+2])
			for b := int(low); b <= int(high); b++ {
				set.add(byte(b))
			}
			i += 2
		default:
			set.add(text[i])
		}
	}
	if not {
		for w := range set {
			set[w] = ^set[w]
		}
	}
	return set, i
}

// Match reports whether the key matches. It backs up to the last star only, so its cost is bounded by the product of
// the lengths whatever the key.
func (g Glob) Match(key string) bool {
	if !strings.HasPrefix(key, g.Prefix) {
		return false
	}
	if g.Simple {
		return true
	}
	t, k, star, resume := 0, 0, -1, 0
	for k < len(key) {
		switch {
		case t < len(g.tokens) && g.tokens[t].star:
			star, resume = t, k
			t++
		case t < len(g.tokens) && g.tokens[t].set.has(key[k]):
			t++
			k++
		case star >= 0:
			resume++
			t, k = star+1, resume
		default:
			return false
		}
	}
	for t < len(g.tokens) && g.tokens[t].star {
		t++
	}
	return t == len(g.tokens)
}

// Overlaps reports whether some key matches both.
func (g Glob) Overlaps(o Glob) bool {
	// reach[j] says whether g.tokens[:i] and o.tokens[:j] can consume the same text.
	reach := make([]bool, len(o.tokens)+1)
	for i := range len(g.tokens) + 1 {
		next := make([]bool, len(o.tokens)+1)
		for j := range len(o.tokens) + 1 {
			next[j] = i == 0 && j == 0 ||
				// A star of one consumes nothing, or what the other's last token consumes.
				i > 0 && reach[j] && (g.tokens[i-1].star || j > 0 && o.tokens[j-1].star) ||
				j > 0 && next[j-1] && (o.tokens[j-1].star || i > 0 && g.tokens[i-1].star) ||
				i > 0 && j > 0 && reach[j-1] && g.tokens[i-1].set.meets(o.tokens[j-1].set)
		}
		reach = next
	}
	return reach[len(o.tokens)]
}

// Covers reports whether every key that matches o surely matches g: where each byte of g takes all that the byte of o in
// its place can be, up to a star at the end of g. It may say no for an odd pattern that does.
func (g Glob) Covers(o Glob) bool {
	if g.Text == o.Text {
		return true
	}
	for i, t := range g.tokens {
		if t.star {
			return i == len(g.tokens)-1
		}
		if i >= len(o.tokens) || o.tokens[i].star || o.tokens[i].set.without(t.set) {
			return false
		}
	}
	return len(g.tokens) == len(o.tokens)
}

// Literals counts the literal bytes up to the first star or class of several: how specific a pattern is. The length of a
// Java string, which any two bytes stand for, does not end the count.
func (g Glob) Literals() int {
	n := len(g.Prefix)
	if g.Prefix != javaString || len(g.tokens) < n+2 {
		return n
	}
	for _, t := range g.tokens[n+2:] {
		if t.star || len(t.set.members()) != 1 {
			break
		}
		n++
	}
	return n
}

// MergeGlobs returns a pattern that matches every key that one of the globs matches, and few others: one SCAN then
// finds markers and retry counters in a single walk, and foreign keys still stay on the server.
func MergeGlobs(globs ...Glob) string {
	if len(globs) == 1 {
		return globs[0].Text
	}
	var b strings.Builder
	for i := 0; ; i++ {
		var set byteSet
		for _, g := range globs {
			if i >= len(g.tokens) || g.tokens[i].star {
				b.WriteByte('*')
				return b.String()
			}
			for w := range set {
				set[w] |= g.tokens[i].set[w]
			}
		}
		writeSet(&b, set)
	}
}

func writeSet(b *strings.Builder, set byteSet) {
	members := set.members()
	if len(members) > 32 {
		b.WriteByte('?')
		return
	}
	if len(members) > 1 {
		b.WriteByte('[')
	}
	for _, m := range members {
		if strings.IndexByte(`*?[]\^-`, m) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(m)
	}
	if len(members) > 1 {
		b.WriteByte(']')
	}
}

// Fill puts an id in the place of a pattern's star. It is a guess where the pattern is more than text and a star.
func (g Glob) Fill(id string) string {
	before, after := g.Prefix, ""
	for i, t := range g.tokens {
		if t.star {
			after = parseLiteral(g.tokens[i+1:])
			break
		}
	}
	return before + id + after
}

// parseLiteral returns the text that single-byte tokens stand for.
func parseLiteral(tokens []token) string {
	var text []byte
	for _, t := range tokens {
		if m := t.set.members(); len(m) == 1 {
			text = append(text, m[0])
		}
	}
	return string(text)
}

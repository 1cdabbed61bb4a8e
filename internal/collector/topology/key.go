package topology

import "strings"

// A fit says whether messages match a binding.
type fit uint8

// The fits, in order: the weaker of two holds for both.
const (
	never fit = iota
	perhaps
	always
)

// A keyPattern is what is known of the routing key of a message: the key, or a pattern of a topic exchange that it matches.
type keyPattern struct {
	text    string
	pattern bool
}

// anyKey is the pattern that every key matches.
func anyKey() keyPattern { return keyPattern{"#", true} }

// equals says whether the key is the key of a binding of a direct exchange.
func (k keyPattern) equals(binding string) fit {
	switch {
	case !k.pattern && k.text == binding:
		return always
	case k.pattern && TopicMatches(k.text, binding):
		return perhaps
	}
	return never
}

// matches says whether the key matches the pattern of a binding of a topic exchange.
func (k keyPattern) matches(binding string) fit {
	switch {
	case binding == "#" || k.pattern && k.text == binding:
		return always
	case !k.pattern && TopicMatches(binding, k.text):
		return always
	case k.pattern && patternsMeet(k.text, binding):
		return perhaps
	}
	return never
}

// topicWords splits a key or pattern as a topic exchange does: words between dots, which may be empty; the empty key has none.
func topicWords(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ".")
}

// TopicMatches reports whether a topic exchange routes a key along a binding with a pattern: * is one word, # any number of
// words, and neither means anything within a word or in a key (https://www.rabbitmq.com/tutorials/amqp-concepts).
func TopicMatches(pattern, key string) bool {
	p, k := topicWords(pattern), topicWords(key)
	// row[j] is whether p[i:] matches k[j:], below[j] whether p[i+1:] does.
	below := make([]bool, len(k)+1)
	below[len(k)] = true
	for i := len(p) - 1; i >= 0; i-- {
		row := make([]bool, len(k)+1)
		for j := len(k); j >= 0; j-- {
			more := j < len(k)
			switch p[i] {
			case "#":
				row[j] = below[j] || (more && row[j+1])
			case "*":
				row[j] = more && below[j+1]
			default:
				row[j] = more && p[i] == k[j] && below[j+1]
			}
		}
		below = row
	}
	return below[0]
}

// patternsMeet reports whether one routing key can match two patterns of a topic exchange: * is one word, # any number.
func patternsMeet(a, b string) bool {
	x, y := topicWords(a), topicWords(b)
	// below[j] is whether x[i+1:] and y[j:] meet, row[j] whether x[i:] and y[j:] do.
	below := make([]bool, len(y)+1)
	for i := len(x); i >= 0; i-- {
		row := make([]bool, len(y)+1)
		for j := len(y); j >= 0; j-- {
			moreX, moreY := i < len(x), j < len(y)
			switch {
			case !moreX && !moreY:
				row[j] = true
			case moreX && x[i] == "#":
				row[j] = below[j] || (moreY && row[j+1])
			case moreY && y[j] == "#":
				row[j] = row[j+1] || (moreX && below[j])
			case moreX && moreY && (x[i] == y[j] || x[i] == "*" || y[j] == "*"):
				row[j] = below[j+1]
			}
		}
		below = row
	}
	return below[0]
}

// hasWildcard reports whether a word of a topic pattern stands for others.
func hasWildcard(pattern string) bool {
	for _, w := range topicWords(pattern) {
		if w == "*" || w == "#" {
			return true
		}
	}
	return false
}

package exports

import (
	"net/url"
	"strconv"
	"unicode/utf8"
)

// shown is hostile text for a message: quoted and short.
func shown(text string) string {
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

// hostOf names an address by its host and path: a query can hold a token.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an endpoint"
	}
	return shown(u.Host + u.Path)
}

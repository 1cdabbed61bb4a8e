package exports

import (
	"dedup-dashboard/internal/text"
	"net/url"
)

// shown is hostile text for a message: quoted and short.
func shown(s string) string { return text.Quoted(s, 80) }

// hostOf names an address by its host and path: a query can hold a token.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an endpoint"
	}
	return shown(u.Host + u.Path)
}

package web

import (
	"net/url"
	"strings"
	"time"
)

// Zone returns the time zone that was asked for: by the query, which makes links that show what was seen, else by the cookie of a
// browser, else UTC. The API has no cookie of its own: the same request means the same with a token and in a browser.
func Zone(r *Request) *time.Location {
	if name := r.URL.Query().Get("tz"); name != "" {
		if z, err := LoadZone(name); err == nil {
			return z
		}
	}
	if c, err := r.Cookie(ZoneCookie); err == nil && r.Kind != APIKind {
		if z, err := LoadZone(c.Value); err == nil {
			return z
		}
	}
	return time.UTC
}

// Now is the time in the zone of who reads the answer.
func (r *Request) Now() time.Time { return time.Now().In(Zone(r)) }

// KeepZone is an address of ours that shows times in the zone which the address of the request asks for, as that does.
func KeepZone(r *Request, address string) string {
	name := r.URL.Query().Get("tz")
	if name == "" {
		return address
	}
	path, anchor, anchored := strings.Cut(address, "#")
	mark := "?"
	if strings.Contains(path, mark) {
		mark = "&"
	}
	path += mark + url.Values{"tz": {name}}.Encode()
	if anchored {
		path += "#" + anchor
	}
	return path
}

// LoadZone returns the zone of this name. The server's own zone has no name that is worth telling.
func LoadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" || len(name) > 64 {
		return time.UTC, nil
	}
	return time.LoadLocation(name)
}

// ZoneCookie holds the time zone of a browser. It is no secret and proves nothing.
const ZoneCookie = "dedup_zone"

// ThemeCookie holds the colours that a browser wants. It is no secret and proves nothing.
const ThemeCookie = "dedup_theme"

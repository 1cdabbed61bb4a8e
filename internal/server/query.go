package server

import (
	"maps"
	"net/url"
	"slices"

	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// repeatable are the parameters of an address that may be given several times: what meets any of the values is meant.
func repeatable(path string) []string {
	switch path {
	case "/":
		return []string{"tier"}
	case "/alerts", "/api/v1/alerts":
		return []string{"tier", "state"}
	case "/api/v1/pipelines":
		return []string{"tier", "risk", "label"}
	case "/silences/new":
		return []string{"label", "op", "value"}
	}
	return nil
}

// checkQuery refuses a query of which something would be left out unsaid: one that cannot be read, such as a filter with a bare semicolon, and a
// parameter that has one value and was given twice. It also refuses a zone that there is not.
func checkQuery(r *web.Request, path string) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return web.Invalid("The address cannot be read behind its question mark: write a semicolon as %3B and a percent sign as %25")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if n := len(values[name]); n > 1 && !slices.Contains(repeatable(path), name) {
			return list.Bad(show.Clean(name, 40), "was given "+templates.Number(n)+" times: it takes one value")
		}
	}
	return checkZone(r)
}

// checkZone refuses a zone in the query that there is not: times would be read and shown in another one.
func checkZone(r *web.Request) error {
	if _, err := web.LoadZone(r.URL.Query().Get("tz")); err != nil {
		return list.Bad("tz", "must be a time zone such as Europe/Berlin or UTC")
	}
	return nil
}

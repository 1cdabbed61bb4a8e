package server

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// The cookies that hold how a browser wants its pages. They are no secret and prove nothing.
const (
	themeCookie = "dedup_theme"
	settingsAge = 365 * 24 * time.Hour
)

// settings stores theme and time zone in the browser and goes back to the page it came from.
func (s *Server) settings(r *web.Request) (web.Response, error) {
	if err := r.ParseForm(); err != nil {
		return nil, web.FormError(err)
	}
	chosen := r.PostForm.Get("theme")
	if chosen != "light" && chosen != "dark" {
		chosen = ""
	}
	name := strings.TrimSpace(r.PostForm.Get("tz"))
	if _, err := web.LoadZone(name); err != nil {
		return nil, web.Invalid("There is no time zone " + show.Clean(name, 64) + "; write it as Europe/Berlin or UTC")
	}
	r.SetCookie(s.settingsCookie(themeCookie, chosen))
	r.SetCookie(s.settingsCookie(web.ZoneCookie, name))
	return web.Redirect{To: s.back(r)}, nil
}

func (s *Server) settingsCookie(name, value string) *http.Cookie {
	c := &http.Cookie{
		Name: name, Value: value, Path: s.cfg.base() + "/", MaxAge: int(settingsAge.Seconds()),
		HttpOnly: true, Secure: s.cfg.secure(), SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// back returns the page of ours that the form was on, and the overview when that is not known.
func (s *Server) back(r *web.Request) string {
	u, err := url.Parse(r.Referer())
	if err != nil || u.Host != r.Host {
		return s.cfg.base() + "/"
	}
	u, _ = unmarked(u)
	return web.SafeNext(s.cfg.base(), strings.TrimPrefix(u.RequestURI(), s.cfg.base()))
}

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
			return list.Bad(show.Clean(name, 40), "was given "+templates.Number(float64(n))+" times: it takes one value")
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

func theme(r *web.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

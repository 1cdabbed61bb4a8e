package server

import (
	"net/http"
	"net/url"
	"strings"

	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// fromOwnPages guards addresses that answer GET and leave an entry in the audit: a link on another site, in a mail or in a chat must
// not make somebody leave it who is signed in here. Programs that send a token pass. Everybody else gets a page that asks,
// whose button comes from here.
func (s *Server) fromOwnPages(h web.Handler) web.Handler {
	return func(r *web.Request) (web.Response, error) {
		if r.Who.Method == "token" || comesFromHere(r, s.cfg) {
			return h(r)
		}
		if strings.HasPrefix(strings.TrimPrefix(r.URL.Path, s.cfg.base()), "/api/") {
			return nil, &web.Error{Status: http.StatusForbidden, Kind: "cross_origin", Heading: "Not allowed", Message: "This leaves an entry in the audit, and the request did not come from a page of this dashboard; give a token as `Authorization: Bearer TOKEN`"}
		}
		return web.Page{Status: http.StatusForbidden, Component: templates.Error(templates.ErrorView{
			Frame: s.frame(r, "Open it?"), Status: http.StatusForbidden, Heading: "Open it?",
			Message: "You did not come from a page of this dashboard: a link elsewhere led here, or a bookmark. " +
				"What is behind it shows what messages hold, and opening it leaves an entry in the audit under your name.",
			Back: r.URL.RequestURI(), BackWord: "Open it",
		})}, nil
	}
}

// comesFromHere reports whether one of our pages led to the request. Browsers say so in Sec-Fetch-Site; over plain HTTP they do not,
// and there the Referer counts, which our own pages send. The sign-in page does not count: it leads on to wherever a link pointed.
func comesFromHere(r *web.Request, cfg Config) bool {
	from, err := url.Parse(r.Referer())
	if err != nil || strings.TrimPrefix(from.Path, cfg.base()) == "/login" {
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	if from.Scheme != "http" && from.Scheme != "https" || from.Host == "" {
		return false
	}
	public, err := url.Parse(cfg.PublicURL)
	return strings.EqualFold(from.Host, r.Host) || err == nil && strings.EqualFold(from.Host, public.Host)
}

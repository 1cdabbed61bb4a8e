package server

import (
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// proxies remembers the first address that handed on a request without being a trusted proxy. It is safe for concurrent use.
type proxies struct {
	first atomic.Pointer[string]
	log   *slog.Logger
}

// watch notes that somebody hands on requests for others without being trusted to: all behind it then count as one address. It says so
// once in the log, and to admins on the page of the audit. Anybody can send such a header, so nothing else follows from it.
func (p *proxies) watch(trusted []string) echo.MiddlewareFunc {
	var networks []*net.IPNet
	for _, cidr := range trusted {
		if n, err := parseNetwork(cidr); err == nil { // the extractor of addresses refuses the others
			networks = append(networks, n)
		}
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if handedOn(c.Request()) && p.first.Load() == nil {
				p.note(c.Request().RemoteAddr, networks)
			}
			return next(c)
		}
	}
}

func handedOn(r *http.Request) bool {
	return r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" || r.Header.Get("X-Real-Ip") != ""
}

func (p *proxies) note(peer string, trusted []*net.IPNet) {
	host, _, err := net.SplitHostPort(peer)
	ip := net.ParseIP(host)
	if err != nil || ip == nil {
		return
	}
	for _, n := range trusted {
		if n.Contains(ip) {
			return
		}
	}
	if host = ip.String(); p.first.CompareAndSwap(nil, &host) {
		p.log.Warn("a request was handed on by a proxy that server.trusted_proxies does not name; everybody behind it counts as one address", "proxy", host)
	}
}

// problem tells admins of a proxy that is not trusted; its zero value if there is none.
func (p *proxies) problem(who auth.Principal) templates.Problem {
	host := p.first.Load()
	if host == nil || !who.Can(adminRole) {
		return templates.Problem{}
	}
	return show.Problem(dedup.Warning, "A request came from "+*host+" with a header that names another sender. If that is a proxy of yours, everybody behind it counts as one address: here, and when sign-ins that failed are delayed.",
		"Add its address to server.trusted_proxies and restart. If it is no proxy of yours, somebody sent that header, and nothing follows from it.")
}

// Package web is what a handler of the server gets and gives back, and what the pages share that register with it.
package web

import (
	"net/http"
	"net/netip"

	"github.com/a-h/templ"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/list"
)

// Request is what a handler gets: the standard request and what the middleware found out. Handlers never see echo, so
// that moving off it stays the work of the server.
type Request struct {
	*http.Request
	// Who is asking; Nobody on public routes without a session.
	Who auth.Principal
	// Kind is how the route answers.
	Kind Kind
	// ID names the request in logs and on error pages.
	ID string
	// From is the address of the client, behind trusted proxies the one that they name.
	From netip.Addr
	// Fragment is the id of the region asked for by a live page (header HX-Request-Type: partial with HX-Target), empty
	// for a whole page.
	Fragment string
	// ByItself is true for a page that loads itself again, without the script.
	ByItself bool
	// Cookies are set with the response, whatever it is.
	Cookies []*http.Cookie
}

// SetCookie adds a cookie to the response.
func (r *Request) SetCookie(c *http.Cookie) { r.Cookies = append(r.Cookies, c) }

// Caller returns who is asking, for the gate.
func (r *Request) Caller(p auth.Principal) admin.Caller {
	return admin.Caller{Principal: p, From: r.From.String()}
}

// NeedsRole says that who asks lacks the role for something: "Measuring needs the role operator; you are signed in as viewer."
func (r *Request) NeedsRole(what string, role auth.Role) string {
	return what + " needs the role " + role.String() + "; you are signed in as " + r.Who.Role.String() + "."
}

// Handler answers one request. It returns an error instead of writing one; the server maps it to a page or to JSON.
type Handler func(*Request) (Response, error)

// Response is a page, a fragment, JSON, CSV, plain text, a redirect or a stream.
type Response interface {
	Write(w http.ResponseWriter, r *Request) error
}

// Page renders the component to a buffer and then writes it, whole or, for a live region, only the named fragment.
type Page struct {
	Status    int
	Component templ.Component
}

// Redirect sends the browser on with 303 See Other.
type Redirect struct{ To string }

// JSON writes v as JSON.
type JSON struct {
	Status int
	Value  any
}

// CSV is a table for spreadsheets.
type CSV struct{ list.Table }

// Text is one line of plain text.
type Text struct {
	Status int
	Text   string
}

// Standard hands the request to a handler of the standard library.
type Standard struct{ Handler http.Handler }

// Kind says how a route answers: with pages for people, or with what programs read.
type Kind string

// The kinds of route.
const (
	PageKind   Kind = "page"
	APIKind    Kind = "api"
	ProbeKind  Kind = "probe"
	StreamKind Kind = "stream"
	StaticKind Kind = "static"
)

// Asker is who asks, for the service.
func (r *Request) Asker() admin.Caller { return r.Caller(r.Who) }

package server

import (
	"net/http"
	"net/netip"

	"dedup-dashboard/internal/server/list"

	"github.com/a-h/templ"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
)

// request is what a handler gets: the standard request and what the middleware found out. Handlers never see echo, so
// that moving off it stays the work of routes.go and middleware.go.
type request struct {
	*http.Request
	// Who is asking; Nobody on public routes without a session.
	Who auth.Principal
	// kind is how the route answers.
	kind kind
	// ID names the request in logs and on error pages.
	ID string
	// From is the address of the client, behind trusted proxies the one that they name.
	From netip.Addr
	// Fragment is the id of the region asked for by a live page (header HX-Request-Type: partial with HX-Target), empty
	// for a whole page.
	Fragment string
	// ByItself is true for a page that loads itself again, without the script.
	ByItself bool
	// cookies are set with the response, whatever it is.
	cookies []*http.Cookie
}

// setCookie adds a cookie to the response.
func (r *request) setCookie(c *http.Cookie) { r.cookies = append(r.cookies, c) }

// caller returns who is asking, for the gate.
func (r *request) caller(p auth.Principal) admin.Caller {
	return admin.Caller{Principal: p, From: r.From.String()}
}

// handler answers one request. It returns an error instead of writing one; errors.go maps it to a page or to JSON.
type handler func(*request) (response, error)

// response is a page, a fragment, JSON, CSV, plain text, a redirect or a stream.
type response interface {
	write(w http.ResponseWriter, r *request) error
}

// page renders the component to a buffer and then writes it, whole or, for a live region, only the named fragment.
type page struct {
	status    int
	component templ.Component
}

// redirect sends the browser on with 303 See Other.
type redirect struct{ to string }

// jsonBody writes v as JSON.
type jsonBody struct {
	status int
	v      any
}

// csvBody is a table for spreadsheets.
type csvBody struct{ list.Table }

// textBody is one line of plain text.
type textBody struct {
	status int
	text   string
}

// standard hands the request to a handler of the standard library.
type standard struct{ handler http.Handler }

package server

import (
	"net/http"

	"github.com/a-h/templ"

	"dedup-dashboard/internal/auth"
)

// request is what a handler gets: the standard request and what the middleware found out. Handlers never see echo, so
// that moving off it stays the work of routes.go and middleware.go.
type request struct {
	*http.Request
	// Who is asking; Nobody on public routes without a session.
	Who auth.Principal
	// ID names the request in logs and on error pages.
	ID string
	// Fragment is the id of the region asked for by a live page (header HX-Request-Type: partial with HX-Target), empty
	// for a whole page.
	Fragment string
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

// csvBody is a table for spreadsheets; cells that begin like a formula are defused.
type csvBody struct {
	filename string
	rows     [][]string
}

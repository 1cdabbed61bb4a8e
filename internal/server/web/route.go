package web

import (
	"net/http"

	"dedup-dashboard/internal/auth"
)

// A Route is one address of the dashboard.
type Route struct {
	Method string // GET answers HEAD too
	Path   string // below the base path; {name} is a pipeline or a page, {id} a plan, an operation, a job or a silence
	Needs  auth.Role
	Kind   Kind
	// Acts marks what changes something beyond sessions and settings: it goes away with read_only.
	Acts bool
	// OwnPages marks a GET that leaves an entry in the audit: a link of another site does not open it.
	OwnPages bool
	Handler  Handler
}

// Get is a page that a role may read.
func Get(path string, needs auth.Role, h Handler) Route {
	return Route{Method: http.MethodGet, Path: path, Needs: needs, Kind: PageKind, Handler: h}
}

// Post takes a form by which a role may change something. The handler gets it read.
func Post(path string, needs auth.Role, h Handler) Route {
	read := func(r *Request) (Response, error) {
		if err := r.ParseForm(); err != nil {
			return nil, FormError(err)
		}
		return h(r)
	}
	return Route{Method: http.MethodPost, Path: path, Needs: needs, Kind: PageKind, Acts: true, Handler: read}
}

// APIGet is what programs of a role may read, below the path of the API.
func APIGet(path string, needs auth.Role, h Handler) Route {
	return Route{Method: http.MethodGet, Path: apiPath + path, Needs: needs, Kind: APIKind, Handler: h}
}

// APIPost takes JSON by which programs of a role may change something.
func APIPost(path string, needs auth.Role, h Handler) Route {
	return Route{Method: http.MethodPost, Path: apiPath + path, Needs: needs, Kind: APIKind, Acts: true, Handler: h}
}

// Audited is a route whose reading leaves an entry in the audit: see OwnPages.
func Audited(r Route) Route {
	r.OwnPages = true
	return r
}

// Refused are routes that cannot answer, for what stands behind them is missing: each says why.
func Refused(routes []Route, why error) []Route {
	for i := range routes {
		routes[i].Handler = func(*Request) (Response, error) { return nil, why }
	}
	return routes
}

const apiPath = "/api/v1"

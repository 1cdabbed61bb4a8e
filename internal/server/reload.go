package server

import (
	"net/url"
	"slices"
	"strings"

	"dedup-dashboard/internal/server/web"
)

// reloadMark is what a page adds to its address when it loads itself again, without the script. Nobody asked for such a page, so that it is no
// use of the session. Headers do not tell: browsers send Sec-Fetch-User over HTTPS alone.
const reloadMark = "auto=1"

// unmarked returns an address without the mark, and whether it had it. It is taken off before anything of ours reads the address: so no link
// and no form carries it on, and a click counts as one.
func unmarked(u *url.URL) (*url.URL, bool) {
	pairs := strings.Split(u.RawQuery, "&")
	rest := slices.DeleteFunc(slices.Clone(pairs), func(pair string) bool { return pair == reloadMark })
	if len(rest) == len(pairs) {
		return u, false
	}
	plain := *u
	plain.RawQuery = strings.Join(rest, "&")
	return &plain, true
}

// reloadAddress is where a page loads itself from again.
func reloadAddress(r *web.Request) string {
	query := r.URL.RawQuery
	if query != "" {
		query += "&"
	}
	return r.URL.EscapedPath() + "?" + query + reloadMark
}

package web

import (
	"net/url"
	"slices"
	"strings"
)

// reloadMark is what a page adds to its address when it loads itself again, without the script. Nobody asked for such a page, so that it is no
// use of the session. Headers do not tell: browsers send Sec-Fetch-User over HTTPS alone.
const reloadMark = "auto=1"

// Unmarked returns an address without the mark, and whether it had it. It is taken off before anything of ours reads the address: so no link
// and no form carries it on, and a click counts as one.
func Unmarked(u *url.URL) (*url.URL, bool) {
	pairs := strings.Split(u.RawQuery, "&")
	rest := slices.DeleteFunc(slices.Clone(pairs), func(pair string) bool { return pair == reloadMark })
	if len(rest) == len(pairs) {
		return u, false
	}
	plain := *u
	plain.RawQuery = strings.Join(rest, "&")
	return &plain, true
}

// ReloadAddress is where a page loads itself from again.
func ReloadAddress(r *Request) string {
	query := r.URL.RawQuery
	if query != "" {
		query += "&"
	}
	return r.URL.EscapedPath() + "?" + query + reloadMark
}

// Back returns the page of ours that the form was on, and the overview when that is not known.
func Back(base string, r *Request) string {
	u, err := url.Parse(r.Referer())
	if err != nil || u.Host != r.Host {
		return base + "/"
	}
	u, _ = Unmarked(u)
	return SafeNext(base, strings.TrimPrefix(u.RequestURI(), base))
}

package mask

import (
	"regexp"
	"strings"
)

// bareAddress is what follows the name of an account in the address of a server that has no scheme, as drivers of MySQL print it:
// shop:password@tcp(10.0.0.6:3306)/shop, shop:password@db:5432/shop.
var bareAddress = regexp.MustCompile(`^[^ \t\r\n"'<>]+@(?:[A-Za-z0-9.-]*\(|[A-Za-z0-9.-]+(?::[0-9]+|/))`)

// signsIn hides how an account signs in at such an address; it is false where there is none.
func (w *textMasker) signsIn(begin int) bool {
	found := bareAddress.FindString(w.text[begin:min(len(w.text), begin+longestAddress)])
	if found == "" {
		return false
	}
	w.put(begin, Hidden, begin+strings.LastIndexByte(found, '@'))
	return true
}

// longestAddress is how far the end of an address is sought.
const longestAddress = 2048

// server hides who signs in at the address of a server, and how: scheme://user:password@host. It is called before "://".
func (w *textMasker) server() {
	begin := w.at + len("://")
	w.at = begin
	whole := w.text[begin:min(len(w.text), begin+longestAddress)]
	if i := strings.IndexAny(whole, " \t\r\n\"'<>"); i >= 0 {
		whole = whole[:i]
	}
	host := whole
	if i := strings.IndexAny(host, `/?#\`); i >= 0 {
		host = host[:i]
	}
	at := strings.LastIndexByte(host, '@')
	if _, port, ok := strings.Cut(host, ":"); at < 0 && ok && !strings.HasPrefix(host, "[") && strings.Trim(port, "0123456789,;:.") != "" {
		at = strings.LastIndexByte(whole, '@') // a password with a slash in it
	}
	if at > 0 {
		w.put(begin, Hidden, begin+at)
		return
	}
	if w.at = begin + len(host); strings.HasPrefix(w.text[w.at:], "?") || strings.HasPrefix(w.text[w.at:], "/") {
		w.at++
	}
}

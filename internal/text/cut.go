package text

import "unicode/utf8"

// Cut cuts a text to n bytes, between two characters, and adds an ellipsis where it was longer.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

package mask

import (
	"encoding/base64"
	"html"
	"strings"
)

// decoded returns what a text says behind an encoding that whoever reads it can undo: that of addresses and forms, of HTML, or base64 of JSON.
// It is the text itself where there is none.
func decoded(s string) string {
	if whole := strings.TrimSpace(s); beginsBase64JSON(whole) && base64End(whole, 0) == len(whole) {
		return fromBase64(whole)
	}
	if strings.IndexByte(s, '%') >= 0 {
		s = fromPercent(s)
	}
	if strings.IndexByte(s, '&') >= 0 {
		s = html.UnescapeString(s)
	}
	return s
}

// fromPercent undoes the encoding of addresses as far as there is one: 100 % stays.
func fromPercent(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && hexDigit(s[i+1]) >= 0 && hexDigit(s[i+2]) >= 0 {
			out.WriteByte(byte(hexDigit(s[i+1])<<4 | hexDigit(s[i+2])))
			i += 2
			continue
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

func hexDigit(c byte) int { return strings.IndexByte("0123456789abcdef", c|0x20) }

// beginsBase64JSON reports whether a text begins like the base64 of a JSON object or list of objects, lists or strings.
func beginsBase64JSON(s string) bool {
	if len(s) < 3 {
		return false
	}
	switch s[:3] {
	case "eyJ", "eyA", "ewo", "ew0", "W3s", "WyJ", "W1s", "Wwo", "Ww0":
		return true
	}
	return false
}

// base64End returns the end of the base64 that begins at a byte, in either alphabet.
func base64End(s string, i int) int {
	for i < len(s) && (s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z' || s[i] >= '0' && s[i] <= '9' || strings.IndexByte("+/-_=", s[i]) >= 0) {
		i++
	}
	return i
}

// fromBase64 returns what stands in base64, in either alphabet, with its padding, without it or cut.
func fromBase64(s string) string {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	if len(s)%4 == 1 {
		s = s[:len(s)-1]
	}
	plain, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return "\xff" // which is not shown
	}
	return string(plain)
}

// base64 hides the base64 of JSON that begins at a byte when something in it is hidden, or when it cannot be read.
func (w *textMasker) base64(begin int) {
	const shortest = 16
	end := base64End(w.text, begin)
	if w.at = end; end-begin < shortest {
		return
	}
	if plain := fromBase64(w.text[begin:end]); w.Work.text(plain, w.in, w.inside+1) != plain {
		w.put(begin, Hidden, end)
	}
}

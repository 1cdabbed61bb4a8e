package notify

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dedup-dashboard/internal/alerts/rule"
)

// The most characters of a name, a sentence and an address that a message repeats.
const (
	maxName = 120
	// maxHeadline bounds what a finding says in the first line.
	maxHeadline = 240
	maxText     = 600
	maxLink     = 1000
)

// clean makes a foreign text one line that can be shown: spaces for line breaks, escapes for what is invisible, turns the direction of
// the text or is not UTF-8, at most so many characters. What would call people or lead elsewhere in some chat is taken apart, on top of
// what each channel escapes.
func clean(s string, most int) string {
	var b strings.Builder
	count := 0
	for i, r := range s {
		if count >= most {
			b.WriteString("…")
			break
		}
		count++
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case !unicode.IsPrint(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return disarm(strings.TrimSpace(b.String()))
}

// crowd matches the words by which chats call everybody.
var crowd = regexp.MustCompile(`(?i)[@＠](all|channel|everyone|here|所有人)`)

// disarm takes apart mentions and links.
func disarm(s string) string {
	s = strings.NewReplacer("<!", "< !", "<@", "< @", "<#", "< #", "](", "] (", "://", ": //").Replace(s)
	return crowd.ReplaceAllString(s, "@ $1")
}

// safeLink returns an address of http or https that is fit for a link, empty for anything else.
func safeLink(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || len(text) > maxLink {
		return ""
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return ""
	}
	if strings.ContainsAny(u.Hostname(), "<>()\"'[]`") {
		return ""
	}
	// A host stays as it is: escaped, the brackets of [::1] make an address that leads nowhere, with which Alertmanager refuses all alerts
	// of a message.
	root := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	escaped := strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C", "(", "%28", ")", "%29", `"`, "%22", "'", "%27", "[", "%5B", "]", "%5D", "`", "%60")
	return root + escaped.Replace(strings.TrimPrefix(u.String(), root))
}

// moment writes a time for people; alerts cross time zones, so it is UTC.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// plural writes a count with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return rule.Number(float64(n)) + " " + many
}

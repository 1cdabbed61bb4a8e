package notify

import (
	"encoding/hex"
	"html"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"dedup-dashboard/internal/alerts"
)

// compose writes the message in plain text and HTML. The same notification has the same Message-ID, so that a mailbox can tell it again.
func (e *email) compose(n alerts.Notification) *gomail.Msg {
	w := describe(n, cuts(n)[0])
	id := hex.EncodeToString(signature("message", n.ID))[:32]
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithBoundary("part-"+id))
	m.FromMailAddress(e.from)
	m.ToMailAddress(e.to...)
	m.Subject(w.subject)
	m.SetDateWithValue(time.Now())
	m.SetMessageIDWithValue(id + "@" + domain(e.from.Address))
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetGenHeader(gomail.HeaderXAutoResponseSuppress, "All")
	m.SetBodyString(gomail.TypeTextPlain, plain(w))
	m.AddAlternativeString(gomail.TypeTextHTML, page(w))
	return m
}

// domain returns what follows the @ of an address.
func domain(address string) string {
	return address[strings.LastIndex(address, "@")+1:]
}

// plain writes a message without markup, one thing to a line.
func plain(w words) string {
	return w.text(markup{
		escape: func(s string) string { return s }, subject: "%s\n\n", headline: "%s\n", line: "%s: %s\n", alert: "Alert: %s\n", runbook: "Runbook: %s\n",
	}) + strings.TrimSpace("-- \ndedup-dashboard "+w.link) + "\n"
}

// page writes a message in HTML that needs nothing from elsewhere: no image, no script, no font.
func page(w words) string {
	var b strings.Builder
	esc := html.EscapeString
	b.WriteString("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + esc(w.subject) + "</title></head>\n<body>\n")
	b.WriteString("<h1 style=\"font-size:18px;color:" + colour(w.tier) + "\">" + esc(w.subject) + "</h1>\n")
	for _, l := range w.intro {
		b.WriteString("<p>" + esc(l) + "</p>\n")
	}
	for _, t := range w.told {
		if !w.single() {
			b.WriteString("<h2 style=\"font-size:15px;color:" + colour(t.tier) + "\">" + esc(t.headline) + "</h2>\n")
		}
		pageAlert(&b, t)
	}
	for _, l := range w.outro {
		b.WriteString("<p>" + esc(l) + "</p>\n")
	}
	b.WriteString("<p>dedup-dashboard" + anchor(" · ", w.link, "Open the dashboard") + "</p>\n</body></html>\n")
	return b.String()
}

// pageAlert writes the lines of one alert as a table, and its links.
func pageAlert(b *strings.Builder, t told) {
	if len(t.lines) > 0 {
		b.WriteString("<table>\n")
		for _, l := range t.lines {
			b.WriteString("<tr><th align=\"left\" valign=\"top\">" + html.EscapeString(l.name) + "</th><td>" + html.EscapeString(l.text) + "</td></tr>\n")
		}
		b.WriteString("</table>\n")
	}
	if links := anchor("", t.link, "Open the alert") + anchor(" · ", t.runbook, "Runbook"); links != "" {
		b.WriteString("<p>" + strings.TrimPrefix(links, " · ") + "</p>\n")
	}
}

// anchor writes a link, or nothing where there is no address.
func anchor(before, address, text string) string {
	if address == "" {
		return ""
	}
	return before + "<a href=\"" + html.EscapeString(address) + "\">" + text + "</a>"
}

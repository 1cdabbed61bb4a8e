package message

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"dedup-dashboard/internal/admin/deadletter"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// maxShown is the most bytes of a body that a page shows, and of them as a dump, whose every byte takes four characters.
const (
	maxShown = 64 << 10
	maxDump  = 8 << 10
)

// payloadOf shows a body as the role allows.
func (s pages) payloadOf(l deadletter.Letter, who auth.Principal, key letter.Key, base, view string, revealed bool) templates.PayloadView {
	p := templates.PayloadView{Size: templates.Number(l.Size) + " bytes", Hash: s.site.Masker.Hash(who, l.Hash), HashName: web.HashName(who), Revealed: revealed}
	if l.ContentType != "" {
		p.Type = show.ShortName(l.ContentType) + ", "
	}
	pretty, isJSON := letter.PrettyJSON(l.Body)
	if view == "auto" {
		view = "text"
		switch {
		case isJSON:
			view = "json"
		case len(l.Body) > 0 && !isText(l.Body):
			view = "hex"
		}
	}
	p.View = view
	views := []templates.Choice{{Value: "text", Label: "Text", Chosen: view == "text"}, {Value: "json", Label: "JSON", Chosen: view == "json"}, {Value: "hex", Label: "Bytes", Chosen: view == "hex"}}
	if who.Can(auth.Admin) && l.Size > 0 && l.LeftOut == nil {
		p.Reveal = &templates.RevealForm{Action: base + "/dead-letters/reveal", Fields: key.Fields(), Views: views}
		p.Download = base + "/dead-letters/download?" + key.Values().Encode()
	}
	if len(l.Body) > 0 && !revealed {
		for _, c := range views {
			values := key.Values()
			values.Set("view", c.Value)
			p.Tabs = append(p.Tabs, templates.Tab{Label: c.Label, Href: base + "/dead-letters/message?" + values.Encode() + "#payload", Active: c.Chosen})
		}
	}
	p.Masked = maskedNote(l, revealed)
	if len(l.Body) > 0 {
		showBody(&p, l, pretty, isJSON)
	}
	return p
}

// showBody fills in the body in the view that was chosen; pretty is the body indented where it is JSON.
func showBody(p *templates.PayloadView, l deadletter.Letter, pretty []byte, isJSON bool) {
	shown := l.Body[:min(len(l.Body), maxShown)]
	switch {
	case p.View == "hex":
		p.Dump = web.Dump(shown[:min(len(shown), maxDump)])
		if l.Size > maxDump {
			p.Cut = "The first " + templates.Bytes(maxDump) + " are shown."
		}
		return
	case p.View == "json" && isJSON:
		shown = pretty[:min(len(pretty), maxShown)]
	case p.View == "json":
		p.Cut = "It is not JSON, so it is shown as text. "
	}
	p.Whole = bodyLines(shown)
	if len(l.Body) > maxShown || len(pretty) > maxShown && p.View == "json" {
		p.Cut += "The first " + templates.Bytes(maxShown) + " are shown."
	}
}

func maskedNote(l deadletter.Letter, revealed bool) string {
	switch {
	case revealed && l.LeftOut == nil:
		return ""
	case l.Hidden != "":
		return "Not shown: " + show.EndSentence(templates.Sentence(l.Hidden).Short)
	case l.Size == 0:
		return "The body is empty."
	case l.Masked && len(l.MaskedNames) > 0:
		names := make([]string, len(l.MaskedNames))
		for i, name := range l.MaskedNames {
			names[i] = show.Key(name).Short
		}
		return "Masked: " + strings.Join(names, ", ") + ". The values of members that are personal or secret by these names are replaced by ***."
	case l.Masked:
		return "Values that are personal or secret by their names, and text that cannot be read to tell, are replaced by ***."
	default:
		return ""
	}
}

// isText reports whether a body is text that can be shown. A carriage return belongs to the end of a line.
func isText(body []byte) bool {
	if !utf8.Valid(body) {
		return false
	}
	for _, c := range strings.ReplaceAll(string(body), "\r\n", "\n") {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == utf8.RuneError {
			return false
		}
	}
	return true
}

// comesBack reports whether a body can stand in a text field and come back as it was: a form sends every line with one ending, so that
// a body with two kinds of endings does not.
func comesBack(body []byte) bool {
	both := bytes.Count(body, []byte("\r\n"))
	return isText(body) && (both == 0 || both == bytes.Count(body, []byte("\n")))
}

// bodyLines makes a text of several lines safe to look at, and keeps its lines.
func bodyLines(body []byte) string {
	parts := strings.Split(string(body), "\n")
	for i, line := range parts {
		parts[i] = strings.ReplaceAll(templates.Escape(strings.ReplaceAll(line, "\t", "    ")), `\u000d`, "")
	}
	return strings.Join(parts, "\n")
}

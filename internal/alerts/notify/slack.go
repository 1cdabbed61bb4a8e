package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
)

// The limits of a Slack message, from its reference of Block Kit.
const (
	slackSection = 3000 // characters of one section
	slackBlocks  = 50   // blocks of one message
	slackText    = 3000 // characters of the text beside them; more than 4,000 are cut
)

// slack posts to an incoming webhook of Slack, or of a chat that takes the same messages.
type slack struct{ *poster }

func checkSlack(c Config, p *problems) {
	checkURL(p, "url", c.URL, "https://hooks.slack.com/services/T000/B000/TOKEN")
}

func openSlack(c Config) (Channel, error) {
	to, err := openPoster(c)
	return &slack{to}, err
}

// Send posts one message.
func (s *slack) Send(ctx context.Context, n alerts.Notification) error {
	body, err := json.Marshal(fit(n, newSlackMessage, slackMessage.fits))
	if err != nil {
		return s.permanent("the message cannot be written")
	}
	answer, err := s.post(ctx, jsonHeader(), body)
	if err != nil {
		return err
	}
	return s.accepted(answer)
}

// accepted judges an answer with 2xx. Slack says ok in plain words; others that take its messages say nothing, or ok or success in JSON.
// Anything else is not from a chat: a page to log in at, perhaps.
func (s *slack) accepted(answer []byte) error {
	text := bytes.TrimSpace(answer)
	if len(text) == 0 || string(text) == "ok" {
		return nil
	}
	var said struct {
		OK      *bool  `json:"ok"`
		Success *bool  `json:"success"`
		Error   string `json:"error"`
	}
	if json.Unmarshal(text, &said) != nil || said.OK == nil && said.Success == nil {
		return doubted(s.again(0, "%s answered 200 with something that is no word of a chat: %s; see that its address is right",
			s.target.Host, s.quote(string(text))), true)
	}
	if said.OK != nil && *said.OK || said.Success != nil && *said.Success {
		return nil
	}
	if said.Error == "rate_limited" || said.Error == "ratelimited" {
		return s.again(0, "%s takes no more messages at the moment", s.target.Host)
	}
	return s.permanent("%s refused the message: %s", s.target.Host, s.quote(said.Error))
}

// A slackMessage has a text, which notifications and old clients show, and one attachment for each alert in the colour of its tier.
type slackMessage struct {
	Text        string            `json:"text"`
	UnfurlLinks bool              `json:"unfurl_links"`
	UnfurlMedia bool              `json:"unfurl_media"`
	Attachments []slackAttachment `json:"attachments"`
}

type slackAttachment struct {
	Color    string       `json:"color"`
	Fallback string       `json:"fallback"`
	Blocks   []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type     string        `json:"type"`
	Text     *slackObject  `json:"text,omitempty"`
	Elements []slackObject `json:"elements,omitempty"`
}

type slackObject struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// Verbatim keeps Slack from making links and mentions of what looks like some.
	Verbatim bool `json:"verbatim"`
}

// fits tells whether the limits of Slack hold.
func (m slackMessage) fits() bool {
	blocks := 0
	for _, a := range m.Attachments {
		blocks += len(a.Blocks)
		for _, b := range a.Blocks {
			if b.Text != nil && utf8.RuneCountInString(b.Text.Text) > slackSection {
				return false
			}
			for _, e := range b.Elements {
				if utf8.RuneCountInString(e.Text) > slackSection {
					return false
				}
			}
		}
	}
	return blocks <= slackBlocks && utf8.RuneCountInString(m.Text) <= slackText
}

func newSlackMessage(w words) slackMessage {
	m := slackMessage{Text: slackEscape(w.subject), Attachments: []slackAttachment{}}
	if len(w.intro) > 0 {
		m.Attachments = append(m.Attachments, slackAttach(w.tier, w.subject, section(slackLines(w.intro))))
	}
	for _, t := range w.told {
		m.Attachments = append(m.Attachments, slackAttach(t.tier, t.headline, section(slackAlert(t))))
	}
	rest := slackLines(w.outro)
	if w.link != "" {
		rest = strings.TrimPrefix(rest+"\n"+slackLink(w.link, "Open the dashboard"), "\n")
	}
	if rest != "" {
		m.Attachments = append(m.Attachments, slackAttach(w.tier, w.subject, slackBlock{Type: "context", Elements: []slackObject{mrkdwn(rest)}}))
	}
	return m
}

func slackAttach(t dedup.Tier, fallback string, b slackBlock) slackAttachment {
	return slackAttachment{Color: colour(t), Fallback: slackEscape(fallback), Blocks: []slackBlock{b}}
}

func section(text string) slackBlock {
	object := mrkdwn(text)
	return slackBlock{Type: "section", Text: &object}
}

func mrkdwn(text string) slackObject {
	return slackObject{Type: "mrkdwn", Text: text, Verbatim: true}
}

// slackAlert writes one alert: the headline in bold, a line for each thing to say, and the links.
func slackAlert(t told) string {
	lines := []string{"*" + slackEscape(t.headline) + "*"}
	for _, l := range t.lines {
		lines = append(lines, "*"+l.name+":* "+slackEscape(l.text))
	}
	var links []string
	if t.link != "" {
		links = append(links, slackLink(t.link, "Open the alert"))
	}
	if t.runbook != "" {
		links = append(links, slackLink(t.runbook, "Runbook"))
	}
	if len(links) > 0 {
		lines = append(lines, strings.Join(links, " · "))
	}
	return strings.Join(lines, "\n")
}

func slackLines(lines []string) string {
	escaped := make([]string, len(lines))
	for i, l := range lines {
		escaped[i] = slackEscape(l)
	}
	return strings.Join(escaped, "\n")
}

// slackEscape escapes what begins a mention or a link (Slack's rules for formatting text), and takes the place of marks for style.
func slackEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "∗", "`", "'", "~", "∼").Replace(s)
}

func slackLink(address, text string) string {
	return "<" + strings.ReplaceAll(address, "&", "&amp;") + "|" + text + ">"
}

// colour returns the colour of a tier, as #rrggbb.
func colour(t dedup.Tier) string {
	switch t {
	case dedup.Emergency:
		return "#8b1a1a"
	case dedup.Severe:
		return "#c4320a"
	case dedup.Warning:
		return "#b58105"
	case dedup.Normal:
		return "#2e7d4f"
	default:
		return "#6b7280"
	}
}

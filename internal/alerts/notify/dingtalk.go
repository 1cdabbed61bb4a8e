package notify

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/secret"
)

// The limits of a robot of DingTalk: more than 20 messages in a minute have it banned for 10 minutes, and a body has at most 20,000 bytes.
const (
	dingTalkMost = 20
	// dingTalkTrials are those of them that are left for tests, which the command test-notify sends beside a dashboard that runs.
	dingTalkTrials = 5
	dingTalkSpan   = time.Minute + 2*time.Second // its minute does not begin with ours
	dingTalkBan    = 10 * time.Minute
	dingTalkBytes  = 20000
)

// The codes of the answers of a robot, which come with status 200.
const (
	dingTalkOK       = 0
	dingTalkTooMany  = 130101
	dingTalkTooMany2 = 410100 // the same, of newer robots
	dingTalkSecurity = 310000 // keyword, signature or address of the sender
)

// dingTalk posts as a custom robot of a DingTalk group.
type dingTalk struct {
	*poster
	key secret.Secret
	// pace is kept by what the outbox sends, and trials by tests, which nobody waits for who has a message.
	pace, trials pace
}

func checkDingTalk(c Config, p *problems) {
	const example = "https://oapi.dingtalk.com/robot/send?access_token=TOKEN"
	checkURL(p, "url", c.URL, example)
	if u, err := parseURL(c.URL); err == nil && u.Query().Get("access_token") == "" {
		p.add("url: has no access_token; copy the whole address of the robot, e.g. %s", example)
	}
}

func openDingTalk(c Config) (Channel, error) {
	to, err := openPoster(c)
	if err != nil {
		return nil, err
	}
	d := &dingTalk{
		poster: to, key: c.Secret,
		pace:   pace{most: dingTalkMost - dingTalkTrials, length: dingTalkSpan},
		trials: pace{most: dingTalkTrials, length: dingTalkSpan},
	}
	// The dashboard that ran before may have sent as many as it may just now. To wait for a minute after each start is better than to be
	// silent for ten in the middle of an incident.
	d.pace.spend(time.Now())
	return d, nil
}

// Patience returns how long a delivery may take, with the wait for its turn.
func (d *dingTalk) Patience() time.Duration { return dingTalkSpan + d.client.Patience() }

// Send posts one message, and waits before it while the robot has posted as many as it may, or may have.
func (d *dingTalk) Send(ctx context.Context, n alerts.Notification) error {
	body := fit(n, dingTalkBody, func(body []byte) bool { return len(body) <= dingTalkBytes })
	turn := &d.pace
	if n.Kind == alerts.NotifyTest {
		turn = &d.trials
	}
	if err := turn.wait(ctx); err != nil {
		return d.waited(err)
	}
	answer, err := d.client.post(ctx, d.signed(time.Now()), jsonHeader(), body)
	if err != nil {
		return err
	}
	return d.judge(answer)
}

// waited says why a message was given up that waited for its turn: its time was over, as for a test, or we are stopped.
func (d *dingTalk) waited(err error) error {
	public := fmt.Sprintf("%s: we were stopped while the message waited, because a robot may post %d in a minute", d.who, dingTalkMost)
	if errors.Is(err, context.DeadlineExceeded) {
		public = fmt.Sprintf("%s: the channel did not answer in time; the message still waited, because a robot may post %d in a minute; try again in a minute", d.who, dingTalkMost)
	}
	return &alerts.DeliveryError{Unsent: true, Public: public}
}

// signed returns the address with timestamp and sign, the base64 of the HMAC-SHA256, with the secret as key, of the time in milliseconds,
// a line feed and the secret again. DingTalk takes it for an hour.
func (d *dingTalk) signed(now time.Time) *url.URL {
	target := *d.target
	if d.key.IsZero() {
		return &target
	}
	at, key := strconv.FormatInt(now.UnixMilli(), 10), d.key.Reveal()
	query := target.Query()
	query.Set("timestamp", at)
	query.Set("sign", base64.StdEncoding.EncodeToString(signature(key, at+"\n"+key)))
	target.RawQuery = query.Encode()
	return &target
}

// judge reads the code in an answer with status 200.
func (d *dingTalk) judge(answer []byte) error {
	host := d.target.Host
	var said struct {
		Code *int   `json:"errcode"`
		Text string `json:"errmsg"`
	}
	if json.Unmarshal(answer, &said) != nil || said.Code == nil {
		return doubted(d.again(0, "%s answered 200 without an errcode, so this is not DingTalk: %s", host, d.quote(string(answer))), true)
	}
	switch *said.Code {
	case dingTalkOK:
		return nil
	case dingTalkTooMany, dingTalkTooMany2:
		return d.again(dingTalkBan, "%s takes nothing for 10 minutes (errcode %d), because the robot posted too often; give other senders a robot of their own", host, *said.Code)
	case dingTalkSecurity:
		return d.permanent("%s refused the message (errcode 310000): %s", host, d.security(said.Text))
	case 300001, 400101, 400102, 400105, 400106, 40035, 43004, 400013, 430101, 430102, 430103, 430104:
		return d.permanent("%s refused the message (errcode %d %s); see that the robot still exists and that its address is whole", host, *said.Code, d.quote(said.Text))
	}
	return d.again(0, "%s did not take the message (errcode %d %s)", host, *said.Code, d.quote(said.Text))
}

// security says what to do about a refusal by the robot's security settings, of which its text tells which one.
func (d *dingTalk) security(text string) string {
	low := strings.ToLower(text)
	switch {
	case strings.Contains(low, "timestamp"):
		return "the timestamp of the signature is not within an hour of DingTalk's; this machine's clock is wrong: set it, with NTP for example"
	case strings.Contains(low, "sign"):
		return "the signature does not match; see that secret is the robot's (it begins with SEC) and that this machine's clock is right"
	case strings.Contains(low, "keyword"):
		return "the message has none of the robot's keywords; add the keyword dedup-dashboard, which every message has, or choose the signature instead"
	case strings.Contains(low, "ip"):
		return "the address of this machine is not on the robot's list; add it, or choose the signature instead"
	}
	return d.quote(text)
}

// dingTalkBody writes a message of type markdown. Nobody is mentioned.
func dingTalkBody(w words) []byte {
	text := w.text(markup{
		escape: dingTalkEscape, subject: "### %s\n\n", headline: "**%s**\n\n", line: "- **%s:** %s\n",
		alert: "- [Open the alert](%s)\n", runbook: "- [Runbook](%s)\n",
	}) + "dedup-dashboard"
	if w.link != "" {
		text += " · [Open the dashboard](" + w.link + ")"
	}
	body, _ := json.Marshal(map[string]any{ // of strings it cannot fail
		"msgtype":  "markdown",
		"markdown": map[string]string{"title": dingTalkEscape(w.subject), "text": text},
		"at":       map[string]any{"isAtAll": false},
	})
	return body
}

// dingTalkEscape puts full-width characters in the place of those that make markup or mentions: not every client of DingTalk knows a
// backslash as an escape.
func dingTalkEscape(s string) string {
	return strings.NewReplacer("[", "［", "]", "］", "<", "＜", ">", "＞", "*", "＊", "`", "｀", "~", "～", "|", "｜", "@", "＠", `\`, "＼").Replace(s)
}

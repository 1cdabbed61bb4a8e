package notify_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/alerts"
)

func TestSlackAnswersInABodyAreJudged(t *testing.T) {
	for body, want := range map[string]string{
		"ok": "", " ok\n": "", "": "", `{"ok":true}`: "", `{"success":true}`: "",
		`{"ok":false,"error":"invalid_blocks"}`: "permanent", `{"ok":false,"error":"rate_limited"}`: "again", `{"success":false}`: "permanent",
		"<html>log in</html>": "again", "null": "again", "{}": "again",
	} {
		server := startHTTP(t, func(http.ResponseWriter, *http.Request) answer { return answer{status: 200, body: body} })
		if got := class(open(t, httpConfig("slack", server.hostport)).Send(t.Context(), firing())); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}

// class is how an error is to be treated, in a word.
func class(err error) string {
	d, ok := err.(*alerts.DeliveryError)
	switch {
	case err == nil:
		return ""
	case ok && d.Permanent:
		return "permanent"
	case ok && d.RetryAfter > 0:
		return "after " + d.RetryAfter.String()
	}
	return "again"
}

func TestSlackMessagesKeepItsLimits(t *testing.T) {
	channel, inbox := httpRig("slack").start(t, accepts)
	big := firing()
	for i := range 200 {
		a := duplicates(fmt.Sprintf("pipeline-%d", i))
		a.Why, a.Cause, a.Step = strings.Repeat("<&>", 3000), strings.Repeat("&", 9000), strings.Repeat("ü", 9000)
		big.Alerts = append(big.Alerts, a)
	}
	many := firing()
	for i := range 60 {
		many.Alerts = append(many.Alerts, duplicates(fmt.Sprintf("pipeline-%d", i)))
	}
	for _, n := range []alerts.Notification{big, many, hostile(strings.Repeat("&", 10_000))} {
		if err := channel.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		var m struct {
			Text        string
			Attachments []struct {
				Blocks []struct {
					Text     struct{ Text string }
					Elements []struct{ Text string }
				}
			}
		}
		if err := json.Unmarshal(inbox.last(t).body, &m); err != nil {
			t.Fatal(err)
		}
		blocks := 0
		for _, a := range m.Attachments {
			blocks += len(a.Blocks)
			for _, b := range a.Blocks {
				if c := utf8.RuneCountInString(b.Text.Text); c > 3000 {
					t.Errorf("a section of %d characters", c)
				}
			}
		}
		if blocks > 50 || blocks == 0 || m.Text == "" || utf8.RuneCountInString(m.Text) > 4000 {
			t.Errorf("%d blocks, text of %d characters", blocks, utf8.RuneCountInString(m.Text))
		}
	}
	if !strings.Contains(string(inbox.all()[0].body), "more alerts are not listed") {
		t.Error("what is left out is not told")
	}
}

func TestDingTalkIsSigned(t *testing.T) {
	channel, inbox := httpRig("dingtalk").start(t, accepts)
	if err := channel.Send(t.Context(), firing()); err != nil {
		t.Fatal(err)
	}
	u, err := url.ParseRequestURI(inbox.last(t).uri)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	stamp := q.Get("timestamp")
	if want := base64.StdEncoding.EncodeToString(hmac256(secretCanary, stamp+"\n"+secretCanary)); q.Get("sign") != want || q.Get("access_token") != queryCanary {
		t.Errorf("sign %q, want %q; %v", q.Get("sign"), want, q)
	}
	if ms, err := strconv.ParseInt(stamp, 10, 64); err != nil || time.Since(time.UnixMilli(ms)).Abs() > time.Minute {
		t.Errorf("timestamp %q", stamp)
	}
}

func TestDingTalkCodesInABodyAreJudged(t *testing.T) {
	tests := []struct{ body, want, says string }{
		{`{"errcode":0,"errmsg":"ok"}`, "", ""},
		{`{"errcode":130101,"errmsg":"send too fast, exceed 20 times per minute"}`, "after 10m0s", "posted too often"},
		{`{"errcode":310000,"errmsg":"description:keywords not in content"}`, "permanent", "add the keyword dedup-dashboard"},
		{`{"errcode":310000,"errmsg":"description: invalid timestamp"}`, "permanent", "clock is wrong"},
		{`{"errcode":310000,"errmsg":"sign not match"}`, "permanent", "secret is the robot's"},
		{`{"errcode":310000,"errmsg":"ip 10.0.0.1 not in whitelist"}`, "permanent", "address of this machine"},
		{`{"errcode":300001,"errmsg":"token is not exist"}`, "permanent", "300001"},
		{`{"errcode":-1,"errmsg":"system busy"}`, "again", "-1"},
		{`{"errcode":null}`, "again", "without an errcode"},
		{``, "again", "without an errcode"},
		{`[]`, "again", "without an errcode"},
	}
	for _, tt := range tests {
		server := startHTTP(t, func(http.ResponseWriter, *http.Request) answer { return answer{status: 200, body: tt.body} })
		err := open(t, httpConfig("dingtalk", server.hostport)).Send(t.Context(), firing())
		if class(err) != tt.want || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %q, %v", tt.body, class(err), err)
		}
	}
}

func TestDingTalkBodiesStayBelowTheirLimitAndBecomeADigest(t *testing.T) {
	channel, inbox := httpRig("dingtalk").start(t, accepts)
	big := firing()
	for i := range 300 {
		a := duplicates(fmt.Sprintf("%s-%d", strings.Repeat("管", 100), i))
		a.Why, a.Cause, a.Step = strings.Repeat("很", 9000), strings.Repeat("慢", 9000), strings.Repeat("看", 9000)
		big.Alerts = append(big.Alerts, a)
	}
	if err := channel.Send(t.Context(), big); err != nil {
		t.Fatal(err)
	}
	got := inbox.last(t)
	if len(got.body) > 20000 || len(got.body) < 2000 {
		t.Errorf("%d bytes", len(got.body))
	}
	if all := strings.Join(readJSON(t, got), "\n"); !strings.Contains(all, "more alerts are not listed") || !strings.Contains(all, "SEVERE") {
		t.Errorf("%.500s", all)
	}
}

func TestAMessageThatWaitsForItsTurnAtDingTalkHasNotBeenSent(t *testing.T) {
	channel, inbox := httpRig("dingtalk").start(t, accepts)
	for range 15 {
		if err := channel.Send(t.Context(), firing()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if d := deliveryError(t, channel.Send(ctx, firing())); !d.Unsent || d.Permanent || len(inbox.all()) != 15 {
		t.Errorf("%+v after %d messages", d, len(inbox.all()))
	}
}

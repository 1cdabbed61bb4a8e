package notify_test

import (
	"bytes"
	"encoding/base64"
	"net/mail"
	"slices"
	"strings"
	"testing"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/secret"
)

// sendMail sends one message to a server that is prepared in a way.
func sendMail(t *testing.T, prepare func(*mailServer), change func(*notify.Config)) (*mailServer, error) {
	t.Helper()
	server := startMail(t, prepare)
	c := mailConfig(server, server.hostport)
	if change != nil {
		change(&c)
	}
	return server, open(t, c).Send(t.Context(), firing())
}

func TestMailIsEncryptedAsConfigured(t *testing.T) {
	anonymous := func(mode string) func(*notify.Config) {
		return func(c *notify.Config) { c.SMTP.TLS, c.Username, c.Password = mode, "", secret.Secret{} }
	}
	as := func(mode string) func(*notify.Config) { return func(c *notify.Config) { c.SMTP.TLS = mode } }
	tests := []struct {
		name    string
		prepare func(*mailServer)
		change  func(*notify.Config)
		want    string
		says    string
	}{
		{"STARTTLS unless configured", nil, nil, "", ""},
		{"STARTTLS that the server lacks", func(s *mailServer) { s.plain = true }, nil, "permanent", "does not offer STARTTLS"},
		{"STARTTLS if there is", nil, as("opportunistic"), "", ""},
		{"STARTTLS if there is, and there is none", func(s *mailServer) { s.plain = true }, anonymous("opportunistic"), "", ""},
		{"TLS from the first byte", func(s *mailServer) { s.implicit = true }, as("implicit"), "", ""},
		{"TLS from the first byte that the server lacks", nil, as("implicit"), "again", "does not speak TLS"},
		{"no TLS", func(s *mailServer) { s.plain = true }, anonymous("none"), "", ""},
		{"a certificate of an unknown authority", nil, func(c *notify.Config) { c.CAFile = "" }, "again", "set ca_file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, err := sendMail(t, tt.prepare, tt.change)
			if class(err) != tt.want || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%q: %v", class(err), err)
			}
			if got := len(server.inbox.all()); (got == 1) != (tt.want == "") {
				t.Errorf("%d messages", got)
			}
		})
	}
}

func TestMailLogsInWithPlain(t *testing.T) {
	server, err := sendMail(t, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00mover\x00"+passwordCanary)); server.inbox.last(t).uri != want {
		t.Errorf("logged in by %q", server.inbox.last(t).uri)
	}
}

func TestMailAnswersAreJudgedByTheirFirstDigit(t *testing.T) {
	for _, tt := range []struct{ to, answer, want, says string }{
		{"", "421 too busy", "again", "too busy"},
		{"", "554 no service here", "permanent", "no service here"},
		{"AUTH", "535 5.7.8 wrong", "permanent", "see username and password"},
		{"AUTH", "454 4.7.0 later", "again", "later"},
		{"MAIL", "451 later", "again", "later"},
		{"MAIL", "553 not your address", "permanent", "not your address"},
		{"DATA", "452 full", "again", "full"},
		{"DATA", "554 no", "permanent", "554"},
		{".", "451 scanner is down", "again", "scanner"},
		{".", "552 too large", "permanent", "too large"},
		{"EHLO", "250-mail.example\r\n250-STARTTLS\r\n250 SIZE 1", "permanent", "no way to log in"},
		{"QUIT", "500 what", "", ""},
	} {
		server, err := sendMail(t, func(s *mailServer) { s.say[tt.to] = tt.answer }, nil)
		if class(err) != tt.want || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q says %q: %q, %v", tt.to, tt.answer, class(err), err)
		}
		if got := len(server.inbox.all()); (got == 1) != (tt.want == "") {
			t.Errorf("%q says %q: %d messages", tt.to, tt.answer, got)
		}
	}
}

func TestARecipientWhoIsRefusedDoesNotKeepTheMailFromOthers(t *testing.T) {
	server := startMail(t, func(s *mailServer) { s.say["RCPT a@example.org"] = "550 5.1.1 nobody here" })
	channel := open(t, mailConfig(server, server.hostport))
	err := channel.Send(t.Context(), firing())
	if class(err) != "permanent" || !strings.Contains(err.Error(), "1 of 2 recipients") || !strings.Contains(err.Error(), "a@example.org") {
		t.Errorf("%q: %v", class(err), err)
	}
	if got := server.inbox.last(t).to; !slices.Equal(got, []string{"b@example.org"}) {
		t.Errorf("sent to %v", got)
	}
}

func TestARecipientWhoIsRefusedForNowGetsTheMailLaterAndOthersNoSecondOne(t *testing.T) {
	server := startMail(t, func(s *mailServer) { s.say["RCPT a@example.org"] = "450 4.2.1 try again" })
	channel := open(t, mailConfig(server, server.hostport))
	for range 2 {
		if err := channel.Send(t.Context(), firing()); class(err) != "again" || !strings.Contains(err.Error(), "a@example.org") {
			t.Errorf("%q: %v", class(err), err)
		}
	}
	server.change("RCPT a@example.org", "")
	if err := channel.Send(t.Context(), firing()); err != nil {
		t.Error(err)
	}
	var to []string
	for _, d := range server.inbox.all() {
		to = append(to, d.to...)
	}
	if !slices.Equal(to, []string{"b@example.org", "a@example.org"}) {
		t.Errorf("sent to %v", to)
	}
}

func TestWhatOneRecipientHasIsNotLostWhateverTheOthersSaid(t *testing.T) {
	const refused, full = "550 5.1.1 nobody here", "450 4.2.1 try again"
	for name, tt := range map[string]struct {
		a, b  string
		doubt alerts.Doubt
	}{
		"one has it, one never will":    {"", refused, alerts.Unsure},
		"one has it, one will later":    {"", full, alerts.Unsure},
		"nobody has it or ever will":    {refused, refused, alerts.Lost},
		"nobody has it, one may get it": {refused, full, alerts.Lost},
	} {
		t.Run(name, func(t *testing.T) {
			server := startMail(t, func(s *mailServer) { s.say["RCPT a@example.org"], s.say["RCPT b@example.org"] = tt.a, tt.b })
			n := firing()
			d := deliveryError(t, open(t, mailConfig(server, server.hostport)).Send(t.Context(), n))
			n.Repeated = d.Doubtful // as the outbox does when it gives up
			if got := n.Doubts()[n.Alerts[0].Key]; got != tt.doubt {
				t.Errorf("doubt %d, want %d: %s", got, tt.doubt, d.Public)
			}
		})
	}
}

func TestAMailHasOneOfEachHeaderWhateverItIsAbout(t *testing.T) {
	channel, inbox := mailRig().start(t, accepts)
	for _, name := range hostileNames() {
		if err := channel.Send(t.Context(), hostileText(name)); err != nil {
			t.Fatal(err)
		}
		m, err := mail.ReadMessage(bytes.NewReader(inbox.last(t).body))
		if err != nil {
			t.Fatal(err)
		}
		for header, values := range m.Header {
			if len(values) != 1 || !slices.Contains([]string{"Subject", "Date", "Message-Id", "Mime-Version", "From", "To", "Content-Type", "Auto-Submitted", "X-Auto-Response-Suppress"}, header) {
				t.Errorf("%.40q: %s: %q", name, header, values)
			}
		}
	}
}

func TestARepeatedMailHasTheSameMessageID(t *testing.T) {
	channel, inbox := mailRig().start(t, accepts)
	ids := map[string]bool{}
	for range 2 {
		if err := channel.Send(t.Context(), firing()); err != nil {
			t.Fatal(err)
		}
		m, err := mail.ReadMessage(bytes.NewReader(inbox.last(t).body))
		if err != nil {
			t.Fatal(err)
		}
		ids[m.Header.Get("Message-Id")] = true
	}
	if len(ids) != 1 || ids[""] {
		t.Errorf("%v", ids)
	}
}

func TestAMailWhoseEndIsNotAnsweredMayHaveArrived(t *testing.T) {
	for end, doubtful := range map[string]bool{"\x00": true, "451 4.3.0 later": false, "550 5.7.1 no": false} {
		server := startMail(t, func(s *mailServer) { s.say["."] = end })
		d := deliveryError(t, open(t, mailConfig(server, server.hostport)).Send(t.Context(), firing()))
		if d.Doubtful != doubtful {
			t.Errorf("%q: doubtful is %t: %s", end, d.Doubtful, d.Public)
		}
	}
}

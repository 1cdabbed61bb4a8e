package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"dedup-dashboard/internal/alerts"
)

// How the connection to a mail server is encrypted.
const (
	tlsStart         = "starttls"
	tlsOpportunistic = "opportunistic"
	tlsImplicit      = "implicit"
	tlsNone          = "none"
)

const (
	// maxMailAnswers bounds all that a mail server says in one session.
	maxMailAnswers = 1 << 20
	maxRecipients  = 50
	// maxRemembered is of how many notifications it is remembered who has them, while others do not.
	maxRemembered = 64
)

// email sends mail over SMTP: one message for all recipients.
type email struct {
	voice
	config Config
	from   *mail.Address
	to     []*mail.Address
	tls    *tls.Config

	mu sync.Mutex
	// settled are the recipients who have a notification or never will, by its id, while there are others.
	settled map[string]map[string]bool
}

func checkEmail(c Config, p *problems) {
	if c.SMTP.Host == "" || strings.ContainsAny(c.SMTP.Host, "/:@ \r\n") && net.ParseIP(c.SMTP.Host) == nil {
		p.add("smtp.host: must be the name or address of the mail server alone, e.g. mail.example.org")
	}
	if c.SMTP.Port < 0 || c.SMTP.Port > 65535 {
		p.add("smtp.port: must be between 1 and 65535, or 0, which means 587, and 465 with implicit TLS")
	}
	if !slices.Contains([]string{"", tlsStart, tlsOpportunistic, tlsImplicit, tlsNone}, c.SMTP.TLS) {
		p.add("smtp.tls: must be %s, %s, %s or %s", tlsStart, tlsOpportunistic, tlsImplicit, tlsNone)
	}
	if c.Username == "" && given(c.Password) || c.Username != "" && !given(c.Password) {
		p.add("username: needs a password, and a password needs a username")
	}
	if _, err := mail.ParseAddress(c.From); err != nil {
		p.add("from: must be an address, e.g. Dashboard <alerts@example.org>")
	}
	if len(c.To) == 0 || len(c.To) > maxRecipients {
		p.add("to: must be 1 to %d addresses; use a mailing list for more", maxRecipients)
	}
	for i, text := range c.To {
		if _, err := mail.ParseAddress(text); err != nil {
			p.add("to[%d]: must be an address, e.g. oncall@example.org", i)
		}
	}
}

func openEmail(c Config) (Channel, error) {
	roots, err := c.roots()
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	e := &email{
		voice: newVoice(c), config: c, settled: map[string]map[string]bool{},
		tls: &tls.Config{ServerName: c.SMTP.Host, RootCAs: roots, MinVersion: tls.VersionTLS12},
	}
	if e.from, err = mail.ParseAddress(c.From); err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	for _, text := range c.To {
		to, err := mail.ParseAddress(text)
		if err != nil {
			return nil, fmt.Errorf("to: %w", err)
		}
		e.to = append(e.to, to)
	}
	return e, nil
}

// address returns host and port of the mail server.
func (e *email) address() string { return net.JoinHostPort(e.config.SMTP.Host, strconv.Itoa(e.port())) }

func (e *email) port() int {
	switch {
	case e.config.SMTP.Port != 0:
		return e.config.SMTP.Port
	case e.config.SMTP.TLS == tlsImplicit:
		return 465
	}
	return 587
}

// Patience returns how long a delivery may take: an attempt, and the time to say why it failed.
func (e *email) Patience() time.Duration { return e.config.timeout() + sayFor }

// Send delivers to every recipient that does not have the notification yet. It is done when each has it, or never will.
func (e *email) Send(ctx context.Context, n alerts.Notification) error {
	ctx, cancel := context.WithTimeout(ctx, e.config.timeout())
	defer cancel()
	open := e.open(n.ID)
	if len(open) == 0 {
		return nil
	}
	server, err := e.dial(ctx)
	if err != nil {
		return e.explain(ctx, err)
	}
	got, refusals, err := deliver(server, e.compose(n), e.from.Address, open)
	if err != nil {
		return doubted(e.explain(ctx, err), errors.Is(err, errUnanswered))
	}
	return e.settle(n.ID, len(open), got, refusals)
}

// open returns the recipients who must still get a notification.
func (e *email) open(id string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var open []string
	for _, to := range e.to {
		if !e.settled[id][to.Address] {
			open = append(open, to.Address)
		}
	}
	return open
}

// A refusal is what the server said to a recipient.
type refusal struct {
	to  string
	err error
}

// settle remembers who has the notification or was refused for good, and says what is left to do. Those who have it must not get it
// again because another mailbox is full. What one of them has is not lost, whatever the others said: it has to end for him too.
func (e *email) settle(id string, open int, got []string, refusals []refusal) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	arrived, done := len(got) > 0, slices.Clone(got)
	var later, never []string
	for _, r := range refusals {
		words := clean(r.to, maxName) + " " + e.quote(r.err.Error())
		if code(r.err)/100 == 5 {
			never = append(never, words)
			done = append(done, r.to)
			continue
		}
		later = append(later, words)
	}
	if len(later) == 0 {
		delete(e.settled, id)
		if len(never) == 0 {
			return nil
		}
		return doubted(e.permanent("%s refused %d of %d recipients for good: %s; correct or remove them",
			e.address(), len(never), open, strings.Join(never, ", ")), arrived)
	}
	if len(e.settled) >= maxRemembered && e.settled[id] == nil {
		clear(e.settled)
	}
	if e.settled[id] == nil {
		e.settled[id] = map[string]bool{}
	}
	for _, to := range done {
		e.settled[id][to] = true
	}
	return doubted(e.again(0, "%s does not take mail for %d of %d recipients now: %s",
		e.address(), len(later), open, strings.Join(later, ", ")), arrived)
}

// errUnanswered is that the server had the whole message, and did not say whether it takes it.
var errUnanswered = errors.New("the end of the message was not answered")

// deliver hands over the message for those recipients whom the server takes; an error is one of all of them.
func deliver(server *smtp.Client, message *gomail.Msg, from string, to []string) (got []string, refusals []refusal, err error) {
	if err := server.Mail(angled(from)); err != nil {
		return nil, nil, err
	}
	for _, address := range to {
		err := server.Rcpt(angled(address))
		switch {
		case err == nil:
			got = append(got, address)
		case code(err) == 0 || code(err) == 421: // the server is gone
			return nil, nil, err
		default:
			refusals = append(refusals, refusal{address, err})
		}
	}
	if len(got) > 0 {
		writer, err := server.Data()
		if err != nil {
			return nil, nil, err
		}
		if _, err := message.WriteTo(writer); err != nil {
			return nil, nil, err
		}
		if err := writer.Close(); err != nil {
			if code(err) == 0 {
				err = fmt.Errorf("%w: %w", errUnanswered, err)
			}
			return nil, nil, err
		}
	}
	_ = server.Quit() // the message is theirs, whatever comes now
	return got, refusals, nil
}

// angled writes an address as SMTP takes it.
func angled(address string) string { return (&mail.Address{Address: address}).String() }

// dial connects, encrypts and logs in. The connection ends with the context, whatever waits on it.
func (e *email) dial(ctx context.Context) (*smtp.Client, error) {
	options := []gomail.Option{
		gomail.WithPort(e.port()), gomail.WithTimeout(e.config.timeout()), gomail.WithTLSConfig(e.tls),
		gomail.WithDialContextFunc(func(dialing context.Context, network, address string) (net.Conn, error) {
			raw, err := newDialer().DialContext(dialing, network, address)
			if err != nil {
				return nil, err
			}
			context.AfterFunc(ctx, func() { _ = raw.Close() })
			bounded := &boundedConn{Conn: raw, left: maxMailAnswers}
			if e.config.SMTP.TLS != tlsImplicit {
				return bounded, nil
			}
			secured := tls.Client(bounded, e.tls)
			return secured, secured.HandshakeContext(dialing)
		}),
	}
	switch e.config.SMTP.TLS {
	case tlsImplicit:
		options = append(options, gomail.WithSSL())
	case tlsOpportunistic:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	case tlsNone:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if e.config.Username != "" {
		options = append(options, gomail.WithUsername(e.config.Username), gomail.WithPassword(e.config.Password.Reveal()),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthCramMD5))
	}
	client, err := gomail.NewClient(e.config.SMTP.Host, options...)
	if err != nil {
		return nil, err
	}
	return client.DialToSMTPClientWithContext(ctx)
}

// code returns the code that the server answered with, 0 where it did not answer.
func code(err error) int {
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		return answer.Code
	}
	return 0
}

// explain words a failure that is one of all recipients. 5xx is for good, and so is what only the configuration can fix.
func (e *email) explain(ctx context.Context, err error) error {
	server, c := e.address(), code(err)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
	case c == 530 || c == 535 || c == 534:
		return e.permanent("%s refused to log in (%d): %s; see username and password", server, c, e.quote(err.Error()))
	case c/100 == 5:
		return e.permanent("%s refused the message: %s", server, e.quote(err.Error()))
	case c/100 == 4:
		return e.again(0, "%s does not take the message now: %s", server, e.quote(err.Error()))
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		return e.permanent("%s does not offer STARTTLS; set smtp.tls to %s if it is encrypted from the first byte, as on port 465", server, tlsImplicit)
	case strings.Contains(err.Error(), "does not support SMTP AUTH"), errors.Is(err, gomail.ErrNoSupportedAuthDiscovered):
		return e.permanent("%s offers no way to log in that is safe on this connection; remove username, or see port and smtp.tls", server)
	case errors.Is(err, smtp.ErrUnencrypted):
		return e.permanent("%s would get the password unencrypted; set smtp.tls to %s or %s", server, tlsStart, tlsImplicit)
	case errors.Is(err, errLong):
		return e.again(0, "%s says more than a mail server does; see host and port", server)
	}
	return e.unreached(ctx, server, err)
}

// errLong is why a connection is given up whose other end never stops.
var errLong = errors.New("the answers are too long")

// A boundedConn fails once more was read than a mail server ever says.
type boundedConn struct {
	net.Conn
	left int
}

// Read implements io.Reader.
func (c *boundedConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errLong
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/secret"
)

const (
	// maxAnswer is how much of an answer is read; the rest is dropped with its connection.
	maxAnswer = 64 << 10
	// maxQuoted is how many characters of an answer an error repeats.
	maxQuoted      = 200
	connectTimeout = 5 * time.Second
	// sayFor is how much sooner an attempt ends than the outbox would end it, so that the words of the channel are told.
	sayFor    = 5 * time.Second
	userAgent = "dedup-dashboard"
	// maxRetryAfter bounds what a receiver may ask for.
	maxRetryAfter = 24 * time.Hour
)

// A client sends to the receivers of one channel: directly or through the configured proxy, with certificates verified, and following
// nobody elsewhere. A connection serves one request, so that no request is ever repeated by itself.
type client struct {
	voice
	http    *http.Client
	timeout time.Duration
}

func newClient(c Config) (*client, error) {
	roots, err := c.roots()
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	proxy, err := c.proxy()
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	transport := &http.Transport{
		DialContext:            newDialer().DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTimeout,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxAnswer,
	}
	if proxy != nil {
		transport.Proxy = http.ProxyURL(proxy)
	}
	return &client{
		voice: newVoice(c), timeout: c.timeout(),
		http: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// errLocal is why an address is not connected to: nobody's receiver is there, but the credentials of cloud machines are.
var errLocal = errors.New("the address is link-local")

// newDialer returns a dialer that looks at an address after its name was resolved.
func newDialer() *net.Dialer {
	return &net.Dialer{Timeout: connectTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if linkLocal(at.Addr()) {
			return errLocal
		}
		return nil
	}}
}

// linkLocal says whether an address leads to a neighbour or to the credentials of a cloud machine.
func linkLocal(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return ip.IsLinkLocalUnicast() || ip == netip.AddrFrom16([16]byte{0: 0xfd, 2: 0x0e, 3: 0xc2, 14: 0x02, 15: 0x54})
}

// Patience returns how long a delivery may take: an attempt, and the time to say why it failed.
func (c *client) Patience() time.Duration { return c.timeout + sayFor }

// post sends a body and returns what was answered with 2xx, as far as it was read. Its error is an *alerts.DeliveryError.
func (c *client) post(ctx context.Context, target *url.URL, header http.Header, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var written atomic.Bool // before the receiver has all of it
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) { written.Store(i.Err == nil) },
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, c.permanent("its address cannot be used; see that it is whole")
	}
	request.Header = header
	request.Header.Set("User-Agent", userAgent)
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, doubted(c.unreached(ctx, target.Host, err), written.Load())
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // what breaks off is judged by what came
	if answer.StatusCode/100 != 2 {
		return nil, c.refused(target.Host, answer, text)
	}
	return text, nil
}

// A poster is a client of one address.
type poster struct {
	*client
	target *url.URL
}

func openPoster(c Config) (*poster, error) {
	target, err := parseURL(c.URL)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	client, err := newClient(c)
	if err != nil {
		return nil, err
	}
	return &poster{client, target}, nil
}

func (p *poster) post(ctx context.Context, header http.Header, body []byte) ([]byte, error) {
	return p.client.post(ctx, p.target, header, body)
}

// jsonHeader returns the headers of a request with a body in JSON.
func jsonHeader() http.Header {
	return http.Header{"Content-Type": {"application/json; charset=utf-8"}}
}

// refused words an answer that is not 2xx. All of 4xx is for good but 408 and 429.
func (c *client) refused(host string, answer *http.Response, text []byte) error {
	code := answer.StatusCode
	words := fmt.Sprintf("%s answered %d %s", host, code, http.StatusText(code))
	if quote := c.quote(string(text)); quote != "" {
		words += " " + quote
	}
	switch {
	case code/100 == 3:
		return c.permanent("%s answered %d and leads elsewhere, which is not followed; configure the address that it leads to", host, code)
	case code == http.StatusGatewayTimeout: // whoever stands before the receiver has handed it on
		return doubted(c.again(retryAfter(answer.Header.Get("Retry-After"), time.Now()), "%s", words), true)
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return c.again(retryAfter(answer.Header.Get("Retry-After"), time.Now()), "%s", words)
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusProxyAuthRequired:
		words += "; see whether its token or password is still valid"
	case code == http.StatusNotFound, code == http.StatusGone, code == http.StatusMethodNotAllowed:
		words += "; see whether its address is right and still in use"
	case code == http.StatusRequestEntityTooLarge:
		words += "; it takes no message of this length"
	}
	return c.permanent("%s", words)
}

// retryAfter reads a Retry-After header (RFC 9110 §10.2.3): seconds or a date; 0 for none or nonsense.
func retryAfter(text string, now time.Time) time.Duration {
	text = strings.TrimSpace(text)
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil {
		return min(time.Duration(min(seconds, uint64(maxRetryAfter/time.Second)))*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// A voice words the failures of one channel, without its secrets.
type voice struct {
	// who is named as the one that failed: channel NAME.
	who     string
	secrets []secret.Secret
	// mute is true where a secret is too short to be found in a text for sure: then no text of others is repeated.
	mute bool
}

// newVoice gathers what must never be repeated: every secret, the parts of addresses, and each as it looks when it is escaped.
func newVoice(c Config) voice {
	v := voice{who: "channel " + clean(c.Name, maxName)}
	for _, s := range []secret.Secret{c.Token, c.Secret, c.Password} {
		v.hide(s.Reveal())
		v.mute = v.mute || !s.IsZero() && len(s.Reveal()) < 4
	}
	if c.Username != "" {
		v.hide(base64.StdEncoding.EncodeToString([]byte(c.Username + ":" + c.Password.Reveal())))
		v.hide(base64.StdEncoding.EncodeToString([]byte("\x00" + c.Username + "\x00" + c.Password.Reveal())))
	}
	v.hide(base64.StdEncoding.EncodeToString([]byte(c.Password.Reveal())))
	for _, s := range append([]secret.Secret{c.URL, c.Proxy}, c.URLs...) {
		v.hideURL(s.Reveal())
	}
	return v
}

// hide adds a secret; what is shorter than 4 bytes is left to mute.
func (v *voice) hide(s string) {
	for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s)} {
		if len(form) >= 4 {
			v.secrets = append(v.secrets, secret.New(form))
		}
	}
}

// hideURL adds what in an address may be a token: all but its host, whole and by the piece. It reads the same text as parseURL, or a piece
// would not be what is sent.
func (v *voice) hideURL(text string) {
	u, err := url.Parse(text)
	if err != nil || text == "" {
		return
	}
	v.hide(text)
	if len(u.Path) > 1 {
		v.hide(u.RequestURI())
		v.hide(u.Path)
	}
	v.hide(u.RawQuery)
	for _, values := range u.Query() {
		for _, value := range values {
			v.hide(value)
		}
	}
	for _, segment := range strings.Split(u.Path, "/") {
		if len(segment) >= 6 {
			v.hide(segment)
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		v.hide(password)
		v.hide(u.User.String())
	}
}

// mask replaces every secret, the longest first, so that no part of one stays.
func (v voice) mask(text string) string {
	for longest := ""; ; longest = "" {
		for _, hidden := range v.secrets {
			s := hidden.Reveal()
			if len(s) > len(longest) && strings.Contains(text, s) {
				longest = s
			}
		}
		if longest == "" {
			return text
		}
		text = strings.ReplaceAll(text, longest, "\x00")
	}
}

// say makes a text of others fit to be repeated: masked, printable, short.
func (v voice) say(text string) string {
	parts := strings.Split(v.mask(text), "\x00")
	return clean(strings.Join(parts, secret.Redacted), maxQuoted)
}

// quote returns a text of others between quotation marks; empty where there is none or it must not be repeated.
func (v voice) quote(text string) string {
	if v.mute || strings.TrimSpace(text) == "" {
		return ""
	}
	return "“" + v.say(strings.TrimSpace(text)) + "”"
}

func (v voice) permanent(format string, args ...any) error {
	return &alerts.DeliveryError{Permanent: true, Public: v.who + ": " + fmt.Sprintf(format, args...)}
}

func (v voice) again(after time.Duration, format string, args ...any) error {
	return &alerts.DeliveryError{RetryAfter: after, Public: v.who + ": " + fmt.Sprintf(format, args...)}
}

// doubted marks a failure as one after which the message may have arrived, if it is.
func doubted(err error, doubtful bool) error {
	if d, ok := errors.AsType[*alerts.DeliveryError](err); ok {
		d.Doubtful = doubtful
	}
	return err
}

// is reports whether an error is, or wraps, one of a type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// unreached words why there is no answer. All but a link-local address may be better later.
func (v voice) unreached(ctx context.Context, host string, err error) error {
	if address, ok := errors.AsType[*url.Error](err); ok {
		err = address.Err // its text holds the address
	}
	invalid, expired := errors.AsType[x509.CertificateInvalidError](err)
	timeout, timed := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errLocal):
		return v.permanent("%s leads to a link-local address, where no receiver is; correct its address", host)
	case errors.Is(ctx.Err(), context.Canceled):
		return v.again(0, "%s had not answered when we were stopped", host)
	case is[x509.UnknownAuthorityError](err):
		return v.again(0, "%s showed a certificate of an unknown authority; set ca_file to the authority that signed it", host)
	case is[x509.HostnameError](err):
		return v.again(0, "%s showed a certificate for another name; use the name in the certificate", host)
	case expired:
		return v.again(0, "%s showed a certificate that is not valid: %s", host, v.say(invalid.Error()))
	case is[tls.RecordHeaderError](err):
		return v.again(0, "%s does not speak TLS on this port; see its scheme and port", host)
	case is[*net.DNSError](err):
		return v.again(0, "the name %s cannot be resolved; see that it is right and that the name server answers", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return v.again(0, "%s refuses connections; see that it runs and that its port is right", host)
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded), timed && timeout.Timeout():
		return v.again(0, "%s did not answer in time; it is down or slow, or a firewall drops packets", host)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return v.again(0, "%s closed the connection without an answer", host)
	case v.mute:
		return v.again(0, "%s cannot be reached or answers nonsense", host)
	}
	return v.again(0, "%s cannot be reached or answers nonsense: %s", host, v.say(err.Error()))
}

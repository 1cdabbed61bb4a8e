package exports

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	connectTimeout = 5 * time.Second
	// maxBody bounds one answer, after decompression.
	maxBody = 16 << 20
)

// An errStatus is an answer that is no success.
type errStatus int

func (e errStatus) Error() string {
	return fmt.Sprintf("it answers %d %s", int(e), http.StatusText(int(e)))
}

var (
	errRedirect = errors.New("it redirects, which is not followed; configure the address that it leads to")
	errTooLong  = fmt.Errorf("it answers more than %d MiB", maxBody>>20)
)

// newClient returns a client with the account of the configuration. Like brokers, consumers are reached directly: proxy settings of the
// environment are ignored, so that credentials never travel through a proxy that was meant for the web.
func newClient(c Config) (*http.Client, error) {
	roots, err := c.roots()
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	trust := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if u, err := url.Parse(c.DNS); err == nil && !strings.HasPrefix(u.Hostname(), "_") {
		trust.ServerName = u.Hostname() // the certificate is for the name, not for its addresses; empty where there is no name
	}
	base := &http.Transport{
		DialContext:     (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSClientConfig: trust, TLSHandshakeTimeout: connectTimeout,
		MaxIdleConnsPerHost: 1, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
	return &http.Client{Transport: &account{base: base, config: c}, Timeout: c.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect }}, nil
}

// An account adds to each request who asks, and bounds each answer.
type account struct {
	base   *http.Transport
	config Config
}

// RoundTrip implements http.RoundTripper.
func (a *account) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("User-Agent", "dedup-dashboard")
	for name, value := range a.config.Headers {
		request.Header.Set(name, value.Reveal())
	}
	switch {
	case a.config.Username != "":
		request.SetBasicAuth(a.config.Username, a.config.Password.Reveal())
	case !a.config.Token.IsZero():
		request.Header.Set("Authorization", "Bearer "+a.config.Token.Reveal())
	}
	answer, err := a.base.RoundTrip(request)
	if err == nil {
		answer.Body = &bounded{answer.Body, maxBody}
	}
	return answer, err
}

// CloseIdleConnections lets the client close those of the transport.
func (a *account) CloseIdleConnections() { a.base.CloseIdleConnections() }

// A bounded body fails, rather than ends, beyond its limit: a number that is cut in two would be read as a smaller one.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var one [1]byte
		if n, err := b.ReadCloser.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// withoutAddress words a failed request without its address, which can hold a token.
func withoutAddress(ctx context.Context, limit time.Duration, err error) error {
	var failed *url.Error
	var network net.Error
	switch {
	case errors.Is(err, errTooLong):
		return errTooLong
	case ctx.Err() != nil, errors.As(err, &network) && network.Timeout():
		return fmt.Errorf("no answer within %s", limit)
	case errors.As(err, &failed):
		return failed.Err
	}
	return err
}

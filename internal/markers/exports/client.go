package exports

import (
	"context"
	"crypto/tls"
	"dedup-dashboard/internal/outbound"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxBody bounds one answer, after decompression.
const maxBody = 16 << 20

// An errStatus is an answer that is no success.
type errStatus int

func (e errStatus) Error() string {
	return fmt.Sprintf("it answers %d %s", int(e), http.StatusText(int(e)))
}

var errRedirect = errors.New("it redirects, which is not followed; configure the address that it leads to")

// newClient returns a client with the account of the configuration.
func newClient(c Config) (*http.Client, error) {
	roots, err := outbound.Roots(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	secured := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if u, err := url.Parse(c.DNS); err == nil && !strings.HasPrefix(u.Hostname(), "_") {
		secured.ServerName = u.Hostname() // the certificate is for the name, not for its addresses; empty where there is no name
	}
	return &http.Client{Transport: &account{base: outbound.Transport(secured), config: c}, Timeout: c.Timeout,
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
	request.Header.Set("User-Agent", outbound.UserAgent)
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
		answer.Body = outbound.Limited(answer.Body, maxBody)
	}
	return answer, err
}

// CloseIdleConnections lets the client close those of the transport.
func (a *account) CloseIdleConnections() { a.base.CloseIdleConnections() }

// withoutAddress words a failed request without its address, which can hold a token.
func withoutAddress(ctx context.Context, limit time.Duration, err error) error {
	var failed *url.Error
	var network net.Error
	var large outbound.TooLarge
	switch {
	case errors.As(err, &large):
		return fmt.Errorf("it answers more than %d MiB", large>>20)
	case ctx.Err() != nil, errors.As(err, &network) && network.Timeout():
		return fmt.Errorf("no answer within %s", limit)
	case errors.As(err, &failed):
		return failed.Err
	}
	return err
}

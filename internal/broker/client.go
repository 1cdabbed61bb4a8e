package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/secret"
)

const (
	// maxBody bounds one answer, after decompression.
	maxBody = 32 << 20
	// maxDrain is how much of an answer's rest is read so that its connection can be used again.
	maxDrain       = 64 << 10
	connectTimeout = 5 * time.Second
	UserAgent      = "dedup-dashboard"
)

// A Client reads the management API of one broker. Its methods may be called at the same time but take turns: the
// broker serialises such requests anyway and drops its cache when their arguments alternate.
type Client struct {
	name     string
	root     *url.URL
	user     string
	password secret.Secret
	timeout  time.Duration
	limit    int64
	http     *http.Client
	// prometheus are the endpoints of the nodes, which are read within scrapeTimeout; empty when none is configured.
	prometheus    []*url.URL
	scrapeTimeout time.Duration
	// heard is what was heard of the log; nil where nobody listens to it.
	heard LogReader
	// turn holds one token; whoever has it may use what follows.
	turn   chan struct{}
	memory memory
}

// New returns a client for the configured broker. It connects to nothing; the errors are those of Validate.
func New(config Config) (*Client, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("broker %s: %w", config.Name, err)
	}
	root, err := parseRoot(config.ManagementURL)
	if err != nil {
		return nil, fmt.Errorf("broker %s: management_url: %w", config.Name, err)
	}
	roots, err := config.Roots()
	if err != nil {
		return nil, fmt.Errorf("broker %s: ca_file: %w", config.Name, err)
	}
	prometheus, err := config.prometheus()
	if err != nil {
		return nil, err
	}
	return &Client{
		prometheus: prometheus, scrapeTimeout: min(config.timeout(), deathsTimeout),
		name: config.Name, root: root, user: config.Username, password: config.Password,
		timeout: config.timeout(), limit: maxBody, turn: make(chan struct{}, 1),
		http: newHTTP(roots),
	}, nil
}

// newHTTP returns a client that follows no redirect and asks no proxy.
func newHTTP(roots *x509.CertPool) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: connectTimeout}).DialContext,
			TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    connectTimeout,
			MaxIdleConnsPerHost:    1,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A LogReader tells what was heard of the log of one broker; nil where nothing was.
type LogReader interface{ Reading() *dedup.BrokerLog }

// ReadLog makes samples tell what was heard of the broker's log. It is to be called before the first sample.
func (c *Client) ReadLog(heard LogReader) { c.heard = heard }

// Name returns the configured name of the broker.
func (c *Client) Name() string { return c.name }

// Place names the management API that is read.
func (c *Client) Place() string { return c.root.String() }

// Close drops idle connections. The client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// enter waits for the client's turn; leave ends it.
func (c *Client) enter(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("broker %s: wait for an earlier reading to end: %w", c.name, ctx.Err())
	}
}

func (c *Client) leave() { <-c.turn }

// A streamed decodes itself piece by piece, so that a large answer is never in memory as a whole.
type streamed interface {
	decode(*json.Decoder) error
}

// get reads one resource into v. The path is what apiPath returns.
func (c *Client) get(ctx context.Context, path string, query url.Values, v any) error {
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, name, err := c.request(ctx, path, query)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return c.connectError(name, time.Since(started), OrEnd(ctx, err))
	}
	defer answer.Body.Close()
	c.noteDate(started, answer)
	if answer.StatusCode != http.StatusOK {
		return c.statusError(name, answer)
	}
	if err := c.notJSON(name, answer); err != nil {
		return err
	}
	body := &limitedBody{from: answer.Body, left: c.limit, limit: c.limit}
	if err := decode(body, v); err != nil {
		return c.bodyError(name, time.Since(started), OrEnd(ctx, err))
	}
	return nil
}

// OrEnd returns why ctx ended, if it did: the connection that this closed shows as some error of its own.
func OrEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// request builds a request and its name for errors.
func (c *Client) request(ctx context.Context, path string, query url.Values) (*http.Request, string, error) {
	target := *c.root
	escaped := strings.TrimRight(c.root.EscapedPath(), "/") + "/api/" + path
	unescaped, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, "", fmt.Errorf("broker %s: build the path %s: %w", c.name, Quote(escaped), err)
	}
	target.Path, target.RawPath, target.RawQuery = unescaped, escaped, query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, "", fmt.Errorf("broker %s: build a request: %w", c.name, err)
	}
	request.SetBasicAuth(c.user, c.password.Reveal())
	request.Header.Set("User-Agent", UserAgent)
	request.Header.Set("Accept", "application/json")
	return request, "GET " + target.RequestURI(), nil
}

// APIPath escapes each segment by itself, so that the vhost "/" becomes %2F. It must not be cleaned or joined later.
func APIPath(segments ...string) string {
	escaped := make([]string, len(segments))
	for i, s := range segments {
		escaped[i] = url.PathEscape(s)
	}
	return strings.Join(escaped, "/")
}

func decode(body io.Reader, v any) error {
	decoder := json.NewDecoder(body)
	var err error
	if s, ok := v.(streamed); ok {
		err = s.decode(decoder)
	} else {
		err = decoder.Decode(v)
	}
	if err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, body, maxDrain); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// A limitedBody fails, rather than ends, beyond its limit.
type limitedBody struct {
	from        io.Reader
	left, limit int64
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, bodyTooLarge{b.limit}
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	return n, err
}

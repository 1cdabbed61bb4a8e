package broker

import (
	"context"
	"fmt"
	"net/url"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// A Client reads the management API of one broker. Its methods may be called at the same time but take turns: the
// broker serialises such requests anyway and drops its cache when their arguments alternate.
type Client struct {
	api     *api
	scraper scraper
	// log is what was heard of the log; nil where nobody listens to it.
	log LogReader
	// turn holds one token; whoever has it may use what follows, and api.
	turn   chan struct{}
	lag    lag
	queues queueLister
	hidden hiddenFinder
	traced tracingWatch
}

// New returns a client for the configured broker. It connects to nothing; the errors are those of Validate.
func New(config Config) (*Client, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("broker %s: %w", config.Name, err)
	}
	var roots []*url.URL
	for _, address := range config.Management() {
		root, err := parseRoot(address)
		if err != nil {
			return nil, fmt.Errorf("broker %s: management_url: %w", config.Name, err)
		}
		roots = append(roots, root)
	}
	secured, err := config.TLS()
	if err != nil {
		return nil, fmt.Errorf("broker %s: %w", config.Name, err)
	}
	prometheus, err := config.prometheus()
	if err != nil {
		return nil, err
	}
	client := newHTTP(secured)
	requests := &api{
		name: config.Name, roots: roots, user: config.Username, password: config.Password,
		timeout: config.timeout(), limit: maxBody, http: client,
	}
	return &Client{
		api: requests, turn: make(chan struct{}, 1),
		scraper: scraper{http: client, roots: prometheus, timeout: min(config.timeout(), deathsTimeout), limit: maxBody},
		queues:  queueLister{api: requests}, hidden: hiddenFinder{api: requests}, traced: tracingWatch{api: requests},
	}, nil
}

// A LogReader tells what was heard of the log of one broker; nil where nothing was.
type LogReader interface{ Reading() *dedup.BrokerLog }

// ReadLog makes samples tell what was heard of the broker's log. It is to be called before the first sample.
func (c *Client) ReadLog(log LogReader) { c.log = log }

// Name returns the configured name of the broker.
func (c *Client) Name() string { return c.api.name }

// Place names the management API that is read, by all its addresses.
func (c *Client) Place() string { return text.Joined(c.api.roots, " ", (*url.URL).String) }

// Close drops idle connections. The client stays usable.
func (c *Client) Close() { c.api.http.CloseIdleConnections() }

// enter waits for the client's turn; leave ends it.
func (c *Client) enter(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("broker %s: wait for an earlier reading to end: %w", c.api.name, ctx.Err())
	}
}

func (c *Client) leave() { <-c.turn }

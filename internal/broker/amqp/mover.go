package amqp

import (
	"context"
	"crypto/tls"
	"dedup-dashboard/internal/broker"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync/atomic"
)

// A Mover moves messages of one broker by AMQP, with the account that may act. Each of its connections is opened when it is needed
// and belongs to whoever asked for it. Its methods may be called at the same time.
type Mover struct {
	Name string
	act  broker.Act
	// nodes are where to connect, tried in this order from the one that took the last connection.
	nodes []node
	last  atomic.Int64
	// watch reads what AMQP does not tell: the type and the policy of a queue.
	watch *broker.Client
	Log   *slog.Logger
}

// A node is one that AMQP connects to; tls is nil where it does so in the clear.
type node struct {
	address string
	tls     *tls.Config
}

// OpenMover returns a mover for the configured broker, or nil when no acting account is configured. It connects to nothing; its
// errors are those of Validate.
func OpenMover(config broker.Config, log *slog.Logger) (*Mover, error) {
	if config.Act.IsZero() {
		return nil, nil
	}
	watch, err := broker.New(config)
	if err != nil {
		return nil, err
	}
	secured, err := config.TLS()
	if err != nil {
		return nil, fmt.Errorf("broker %s: %w", config.Name, err)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	m := &Mover{Name: config.Name, act: config.Act, watch: watch, Log: log}
	for _, address := range config.Act.Addresses() {
		n, err := parseNode(address, secured)
		if err != nil {
			return nil, fmt.Errorf("broker %s: act.amqp_url cannot be read", config.Name)
		}
		m.nodes = append(m.nodes, n)
	}
	return m, nil
}

func parseNode(address string, secured *tls.Config) (node, error) {
	target, err := url.Parse(address)
	if err != nil {
		return node{}, err
	}
	port := target.Port()
	if port == "" {
		port = map[string]string{"amqp": "5672", "amqps": "5671"}[target.Scheme]
	}
	n := node{address: net.JoinHostPort(target.Hostname(), port)}
	if target.Scheme == "amqps" {
		n.tls = secured.Clone()
		n.tls.ServerName = target.Hostname()
	}
	return n, nil
}

// Reach connects to each node by itself, and returns why that fails, by its address.
func (m *Mover) Reach(ctx context.Context, vhost string) map[string]error {
	failed := make(map[string]error)
	for _, n := range m.nodes {
		l := &Link{mover: m, node: n, what: "connect to " + n.address}
		if err := l.connect(ctx, vhost, "check", func(conn net.Conn) net.Conn { return conn }); err != nil {
			failed[n.address] = err
			continue
		}
		_ = l.Close()
	}
	return failed
}

// Close releases what the mover itself holds. Sources and sinks are closed by whoever opened them.
func (m *Mover) Close() error {
	m.watch.Close()
	return nil
}

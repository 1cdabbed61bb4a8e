package amqp

import (
	"crypto/tls"
	"dedup-dashboard/internal/broker"
	"fmt"
	"log/slog"
	"net"
	"net/url"
)

// A Mover moves messages of one broker by AMQP, with the account that may act. Each of its connections is opened when it is needed
// and belongs to whoever asked for it. Its methods may be called at the same time.
type Mover struct {
	Name    string
	act     broker.Act
	address string
	tls     *tls.Config // nil without TLS
	// watch reads what AMQP does not tell: the type and the policy of a queue.
	watch *broker.Client
	Log   *slog.Logger
}

// OpenMover returns a mover for the configured broker, or nil when no acting account is configured. It connects to nothing; its
// errors are those of Validate.
func OpenMover(config broker.Config, log *slog.Logger) (*Mover, error) {
	if config.Act == (broker.Act{}) {
		return nil, nil
	}
	watch, err := broker.New(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Act.AMQPURL)
	if err != nil {
		return nil, fmt.Errorf("broker %s: act.amqp_url cannot be read", config.Name)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	m := &Mover{Name: config.Name, act: config.Act, watch: watch, Log: log}
	port := target.Port()
	if port == "" {
		port = map[string]string{"amqp": "5672", "amqps": "5671"}[target.Scheme]
	}
	m.address = net.JoinHostPort(target.Hostname(), port)
	if target.Scheme == "amqps" {
		roots, err := config.Roots()
		if err != nil {
			return nil, fmt.Errorf("broker %s: ca_file: %w", config.Name, err)
		}
		m.tls = &tls.Config{RootCAs: roots, ServerName: target.Hostname(), MinVersion: tls.VersionTLS12}
	}
	return m, nil
}

// Close releases what the mover itself holds. Sources and sinks are closed by whoever opened them.
func (m *Mover) Close() error {
	m.watch.Close()
	return nil
}

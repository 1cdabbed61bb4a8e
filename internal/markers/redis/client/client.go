package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/pace"
)

// ParseURL reads the URL alone. Its error never holds the URL, which may hold a password.
func ParseURL(r markers.Redis) (*redis.Options, error) {
	options, err := redis.ParseURL(r.URL.Reveal())
	if err != nil {
		return nil, errors.New("is not a Redis URL: write redis://user:password@host:6379/0, or rediss:// for TLS, " +
			"with special characters of the password percent-encoded")
	}
	return options, nil
}

// silence keeps the library from writing to standard error on its own: each failure reaches us as an error too, and is
// logged once, with its store.
var silence = sync.OnceFunc(func() { redis.SetLogger(mute{}) })

type mute struct{}

func (mute) Printf(context.Context, string, ...any) {}

// Options returns how to reach a server with few connections that leave no trace in the store: no client name, no library
// announcement, no reads that count as use where the server can tell them apart. The address of one that Sentinels find is its name, that of a cluster its nodes.
func Options(r markers.Redis) (*redis.Options, error) {
	options, err := ParseURL(r)
	if err != nil {
		return nil, err
	}
	if options.TLSConfig != nil {
		if err := addCertificates(options.TLSConfig, r); err != nil {
			return nil, err
		}
	}
	silence()
	options.Protocol = 2
	options.ClientName = ""
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	options.ContextTimeoutEnabled = true
	// A walk holds two; a check or a pass beside it as many again; stats and counters take one each for a moment.
	options.PoolSize, options.MaxActiveConns, options.MinIdleConns = 8, 8, 0
	options.PipelinePoolSize = -1
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = pace.AnswerTimeout, pace.AnswerTimeout, pace.AnswerTimeout
	// Who calls decides about another try: a hidden one would double the load on a server that is in trouble.
	options.MaxRetries, options.DialerRetries = -1, 1
	options.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		// Servers before 7.2 do not know it and users may not be allowed it; reading is possible all the same.
		_ = conn.Do(ctx, "client", "no-touch", "on").Err()
		return nil
	}
	if !r.Sentinel.IsZero() {
		bySentinel(options, r)
	}
	if len(r.Cluster) > 0 {
		options.Network, options.Addr = "tcp", strings.Join(r.Cluster, ",")
		if options.TLSConfig != nil {
			options.TLSConfig.ServerName = r.ServerName // empty: of whichever node is dialled
		}
	}
	return options, nil
}

func addCertificates(t *tls.Config, r markers.Redis) error {
	if r.ServerName != "" {
		t.ServerName = r.ServerName
	}
	if r.CAFile != "" {
		pem, err := os.ReadFile(r.CAFile)
		if err != nil {
			return fmt.Errorf("read redis.ca_file: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("read redis.ca_file: %s holds no PEM certificate", r.CAFile)
		}
	}
	if r.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(r.CertFile, r.KeyFile)
		if err != nil {
			return fmt.Errorf("read redis.cert_file and key_file: %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return nil
}

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
)

// sentinelGrace is how long the other Sentinels are waited for once one has answered: one that was cut off knows an older primary.
const sentinelGrace = 200 * time.Millisecond

// sentinelLife is how long a connection is used at most: one that was cut off from the Sentinels, and not from us, is still a primary to us.
const sentinelLife = time.Minute

// Sentinels find a primary for each new connection. Connections to the one before end by themselves: it is down, or the Sentinels close
// them when they make it a replica.
type sentinels struct {
	of   markers.Sentinel
	tls  *tls.Config
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// bySentinel lets options dial whichever server is the primary. They keep their account, database and TLS.
func bySentinel(options *redis.Options, r markers.Redis) {
	if options.TLSConfig != nil {
		options.TLSConfig.ServerName = r.ServerName // empty: of whichever server is dialled
	}
	s := &sentinels{of: r.Sentinel, tls: options.TLSConfig, dial: redis.NewDialer(&redis.Options{DialTimeout: pace.AnswerTimeout, TLSConfig: options.TLSConfig})}
	options.Network, options.Addr, options.ConnMaxLifetime = "tcp", r.Sentinel.Master, sentinelLife
	options.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
		addr, err := s.primary(ctx)
		if err != nil {
			return nil, err
		}
		return s.dial(ctx, network, addr)
	}
}

// A finding is what one Sentinel knows of the primary. The epoch of its configuration rises with each fail-over.
type finding struct {
	addr  string
	epoch int64
	err   error
}

// primary returns the address that the Sentinel with the newest configuration tells.
func (s *sentinels) primary(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, pace.AnswerTimeout/2)
	defer cancel()
	findings := make(chan finding, len(s.of.Addresses))
	for _, address := range s.of.Addresses {
		go func() { findings <- s.ask(ctx, address) }()
	}
	var best finding
	var failed []error
	for range s.of.Addresses {
		switch f := <-findings; {
		case f.err != nil:
			failed = append(failed, f.err)
		case best.addr == "" || f.epoch > best.epoch:
			if best.addr == "" {
				defer time.AfterFunc(sentinelGrace, cancel).Stop()
			}
			best = f
		}
	}
	if best.addr == "" {
		return "", s.nobody(failed)
	}
	return best.addr, nil
}

// ask asks one Sentinel, over a connection of its own.
func (s *sentinels) ask(ctx context.Context, address string) finding {
	c := redis.NewSentinelClient(&redis.Options{
		Addr: address, Username: s.of.Username, Password: s.of.Password.Reveal(), TLSConfig: s.tls,
		Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, PoolSize: 2, ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer c.Close()
	m, err := c.Master(ctx, s.of.Master).Result()
	if err != nil {
		return finding{err: fmt.Errorf("%s: %w", address, err)}
	}
	epoch, err := strconv.ParseInt(m["config-epoch"], 10, 64)
	if err != nil || m["ip"] == "" || m["port"] == "" {
		return finding{err: fmt.Errorf("%s: the answer names no address", address)}
	}
	return finding{addr: net.JoinHostPort(m["ip"], m["port"]), epoch: epoch}
}

// nobody says why no Sentinel has told an address.
func (s *sentinels) nobody(failed []error) error {
	first := failed[0]
	for _, err := range failed {
		if errors.As(err, new(redis.Error)) { // an answer says more than none
			first = err
			break
		}
	}
	return &dedup.Error{Kind: dedup.Unavailable, Err: errors.Join(failed...), Public: fmt.Sprintf(
		"none of the %d Sentinels tells where the primary %s is; %s. Check sentinel.master and sentinel.addresses",
		len(s.of.Addresses), codec.Printable(s.of.Master), codec.Printable(first.Error()))}
}

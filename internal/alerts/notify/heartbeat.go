package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"dedup-dashboard/internal/secret"
)

// A HeartbeatConfig says who outside is told once a minute that the dashboard still evaluates its rules, and raises an alarm when it
// stops hearing of it. The zero value is no heartbeat.
type HeartbeatConfig struct {
	// URL takes a POST without a body. It is a secret, because a token is part of it.
	URL secret.Secret `yaml:"url"`
	// Timeout bounds one beat; 0 means 10 s, which is the most.
	Timeout time.Duration `yaml:"timeout"`
	// CAFile and Proxy are as in Config.
	CAFile string        `yaml:"ca_file"`
	Proxy  secret.Secret `yaml:"proxy"`
}

// On reports whether there is a heartbeat.
func (c HeartbeatConfig) On() bool { return given(c.URL) }

// Validate returns all problems joined; each message begins with the key that is at fault and says how to fix it. None repeats a secret.
func (c HeartbeatConfig) Validate() error {
	if !c.On() && c.Timeout == 0 && c.CAFile == "" && !given(c.Proxy) {
		return nil
	}
	var p problems
	checkURL(&p, "url", c.URL, "https://heartbeats.example.org/ping/dashboard")
	if c.Timeout < 0 || c.Timeout > defaultTimeout {
		p.add("timeout: must be between 0s (which means %s) and %s", defaultTimeout, defaultTimeout)
	}
	c.channel().checkWay(&p)
	return errors.Join(p...)
}

// channel returns the same as a channel, which is reached in the same way.
func (c HeartbeatConfig) channel() Config {
	return Config{Name: "heartbeat", URL: c.URL, Timeout: c.Timeout, CAFile: c.CAFile, Proxy: c.Proxy}
}

// A Heartbeat tells somebody outside that the dashboard lives. It is safe for concurrent use.
type Heartbeat struct{ to *poster }

// OpenHeartbeat returns the heartbeat that the configuration describes. It connects to nothing; the errors are those of Validate.
func OpenHeartbeat(c HeartbeatConfig) (*Heartbeat, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open the heartbeat: %w", err)
	}
	to, err := openPoster(c.channel())
	if err != nil {
		return nil, fmt.Errorf("open the heartbeat: %w", err)
	}
	to.who = "heartbeat"
	return &Heartbeat{to}, nil
}

// Beat tells it once. Every answer with 2xx takes it; any other is an *alerts.DeliveryError, which holds no secret.
func (h *Heartbeat) Beat(ctx context.Context) error {
	_, err := h.to.post(ctx, http.Header{}, nil)
	return err
}

// Package notify delivers notifications to people: one file for each type of channel, over one hardened HTTP client and one mailer.
//
// A channel tries once. Whether and when to try again is for the outbox, which reads it off the *alerts.DeliveryError. What a channel
// says is decided in text.go for all of them alike; a channel adds its own markup, after it has escaped the words for it.
package notify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"dedup-dashboard/internal/alerts"
)

// A Channel delivers notifications to one receiver. Send tries once, honours ctx, and may be called at the same time; its error is an
// *alerts.DeliveryError, which holds no secret.
type Channel interface {
	Send(ctx context.Context, n alerts.Notification) error
	// Patience is how long one Send may take before its context should end.
	Patience() time.Duration
}

// A kind is a type of channel.
type kind struct {
	// keys are those of the configuration that it reads, beside the ones that every channel has.
	keys []string
	// check notes what is wrong with them.
	check func(Config, *problems)
	open  func(Config) (Channel, error)
	// groups is true where the receiver groups alerts by itself.
	groups bool
}

// kinds maps the types of channels. A new one is one file and one line here.
func kinds() map[string]kind {
	return map[string]kind{
		"webhook":      {[]string{"url", "token", "secret", "proxy"}, checkWebhook, openWebhook, false},
		"alertmanager": {[]string{"urls", "token", "username", "password", "proxy", "ends_after"}, checkAlertmanager, openAlertmanager, true},
		"slack":        {[]string{"url", "proxy"}, checkSlack, openSlack, false},
		"dingtalk":     {[]string{"url", "secret", "proxy"}, checkDingTalk, openDingTalk, false},
		"email":        {[]string{"smtp", "username", "password", "from", "to"}, checkEmail, openEmail, false},
	}
}

// Types returns the types of channels that there are, sorted.
func Types() []string { return slices.Sorted(maps.Keys(kinds())) }

// GroupsItself reports whether the receivers of a type of channel group alerts by themselves: they must get each of them, and no digest.
func GroupsItself(kind string) bool { return kinds()[kind].groups }

// Open returns the channel that the configuration describes. It connects to nothing; the errors are those of Validate.
func Open(c Config) (Channel, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open channel %q: %w", clean(c.Name, maxName), err)
	}
	return kinds()[c.Type].open(c)
}

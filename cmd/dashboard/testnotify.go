package main

import (
	"context"
	"errors"
	"fmt"
	stdio "io"
	"os/user"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/notify"
	"dedup-dashboard/internal/config"
	"dedup-dashboard/internal/dedup"
)

const notifyUsage = "usage: dashboard test-notify -config FILE [CHANNEL...]"

// testNotify sends a message for trial to the named channels, or to all, and says what became of each. The dashboard may run
// beside it.
func testNotify(ctx context.Context, args []string, io streams) error {
	path, names, err := parseFlags(args, notifyUsage)
	if err != nil {
		return err
	}
	if path == "" {
		return unusable(notifyUsage)
	}
	cfg, err := config.Load(path)
	if err != nil {
		return &unusableError{err}
	}
	chosen, err := chooseReceivers(cfg, names)
	if err != nil {
		return err
	}
	var failed []string
	for _, r := range chosen {
		if !r.try(ctx, home(cfg), plainWriter{io.out}) {
			failed = append(failed, r.name)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("not delivered to %s", strings.Join(failed, ", "))
	}
	return nil
}

// home is where the dashboard is reached; empty where only a running one knows.
func home(cfg *config.Config) string {
	if cfg.Server.PublicURL == "" {
		return ""
	}
	return cfg.Server.URL(nil, "")
}

// chooseReceivers opens the channels and returns those that are named, or all.
func chooseReceivers(cfg *config.Config, names []string) ([]receiver, error) {
	opened, err := openReceivers(cfg.Alerts)
	if err != nil {
		return nil, err
	}
	if opened.heart != nil {
		opened.all = append(opened.all, receiver{config.HeartbeatName, "each minute", beating{opened.heart}})
	}
	if len(opened.all) == 0 {
		return nil, unusable("alerts.channels: there are none; docs/alerts.md has an example of each type")
	}
	if len(names) == 0 {
		return opened.all, nil
	}
	var chosen []receiver
	for _, name := range names {
		r, ok := opened.find(name)
		if !ok {
			return nil, unusable("alerts.channels: there is no channel %q; there are %s", name, strings.Join(cfg.Alerts.Dispatch.Channels, ", "))
		}
		chosen = append(chosen, r)
	}
	return chosen, nil
}

// beating is a heartbeat that is tried as a channel is.
type beating struct{ heart *notify.Heartbeat }

// Send implements notify.Channel. A beat says nothing.
func (b beating) Send(ctx context.Context, _ alerts.Notification) error { return b.heart.Beat(ctx) }

// Patience implements notify.Channel.
func (b beating) Patience() time.Duration { return trialBound }

// try sends the message and prints what became of it.
func (r receiver) try(ctx context.Context, home string, out stdio.Writer) bool {
	ctx, cancel := context.WithTimeout(ctx, r.channel.Patience())
	defer cancel()
	began := time.Now()
	err := r.channel.Send(ctx, trial(r.name, sender(), home))
	refused, known := errors.AsType[*alerts.DeliveryError](err)
	switch {
	case err == nil:
		fmt.Fprintf(out, "%s (%s): taken after %s\n", r.name, r.kind, time.Since(began).Round(time.Millisecond))
		return true
	case known && refused.Permanent:
		fmt.Fprintf(out, "%s (%s): REFUSED: %s\n", r.name, r.kind, refused.Public)
	default:
		fmt.Fprintf(out, "%s (%s): NOT TAKEN, which may pass: %s\n", r.name, r.kind, dedup.PublicText(publicDelivery(err)))
	}
	return false
}

// sender names who runs the command.
func sender() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username + " (dashboard test-notify)"
	}
	return "dashboard test-notify"
}

package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
)

// A Channel of notifications: how many wait, since when, and when it last took one.
type Channel struct {
	Name                string
	Waiting             int
	Oldest, LastSuccess time.Time
}

// journalTimeout bounds the reading of the outbox for a scrape.
const journalTimeout = 5 * time.Second

// alertCollector reads the view of alerts on each scrape. Without a first evaluation there is nothing to show.
type alertCollector struct {
	deps                            Deps
	firing, evaluated, took, failed *prometheus.Desc
	waiting, oldest, delivered      *prometheus.Desc
}

func newAlertCollector(deps Deps) *alertCollector {
	return &alertCollector{
		deps:      deps,
		firing:    desc("dedup_alerts", "Alerts that fire, by rule and tier; absent where none does. The watchdog always fires.", "rule", "tier"),
		evaluated: desc("dedup_alert_last_evaluation_timestamp_seconds", "When all rules were last judged and the outcome kept."),
		took:      desc("dedup_alert_evaluation_duration_seconds", "How long the last evaluation of all rules took."),
		failed:    desc("dedup_alert_failed_commits_total", "Evaluations whose outcome the journal did not take."),
		waiting:   desc("dedup_alert_outbox_waiting", "Notifications that are not delivered yet.", "channel"),
		oldest:    desc("dedup_alert_outbox_oldest_timestamp_seconds", "When the oldest notification that waits was made.", "channel"),
		delivered: desc("dedup_alert_last_delivery_timestamp_seconds", "When the channel last took a notification.", "channel"),
	}
}

// Describe sends nothing: what is sent depends on what is known.
func (c *alertCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *alertCollector) Collect(out chan<- prometheus.Metric) {
	emit := emitterTo(out)
	if c.deps.Alerts != nil {
		c.view(c.deps.Alerts.View(), emit)
	}
	if c.deps.Channels == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), journalTimeout)
	defer cancel()
	channels, err := c.deps.Channels(ctx)
	if err != nil {
		return // absent: the rule on the outbox tells of it
	}
	for _, ch := range channels {
		emit(c.waiting, prometheus.GaugeValue, float64(ch.Waiting), ch.Name)
		for d, at := range map[*prometheus.Desc]time.Time{c.oldest: ch.Oldest, c.delivered: ch.LastSuccess} {
			if !at.IsZero() {
				emit(d, prometheus.GaugeValue, seconds(at), ch.Name)
			}
		}
	}
}

func (c *alertCollector) view(view *alerts.View, emit emitter) {
	emit(c.failed, prometheus.CounterValue, float64(view.FailedCommits))
	if view.At.IsZero() {
		return
	}
	emit(c.evaluated, prometheus.GaugeValue, seconds(view.At))
	emit(c.took, prometheus.GaugeValue, view.Took.Seconds())
	type class struct {
		rule string
		tier dedup.Tier
	}
	counts := map[class]float64{}
	for _, a := range view.Alerts {
		if a.State.Phase == alerts.PhaseFiring || a.State.Phase == alerts.PhaseRecovering {
			counts[class{a.Key.Rule, a.State.Tier}]++
		}
	}
	for k, n := range counts {
		emit(c.firing, prometheus.GaugeValue, n, k.rule, k.tier.String())
	}
}

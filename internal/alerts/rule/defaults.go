package rule

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// Defaults returns the built-in rules, in the order in which pages and docs/alerts.md list them. The limits of duplicate_rate and
// ack_latency are those of each pipeline (dedup.DefaultLimits). Unless a rule says otherwise it judges the measure of its name, counts, and
// has the default timing.
func Defaults() []Rule {
	var all []Rule
	for _, group := range [][]Rule{pageRules(), deadLetterRules(), markerRules(), workRules(), consumerRules(), hazardRules(), sourceRules(), selfRules()} {
		all = append(all, group...)
	}
	for i, r := range all {
		if r.Measure == "" && len(r.Findings) == 0 {
			r.Measure = r.Name
		}
		r.Runbook = "docs/alerts.md#" + r.Name
		all[i] = r.completed()
	}
	return all
}

// forAll is a timing of one span for all tiers; AtOnce is that of what is certain once it is seen.
func forAll(span time.Duration) Timing { return Timing{Warning: span, Severe: span, Emergency: span} }

func pageRules() []Rule {
	return []Rule{
		{
			Name: "duplicate_rate", Title: "Duplicate rate", Unit: dedup.Ratio,
			Meaning: "More of the messages than the limit were delivered although their work was done already.",
			Step:    "Look at the split and the events under the duplicate chart: a producer that sends twice, consumer restarts, closed channels, ack timeouts, a job that moved messages.",
		},
		{
			Name: "ack_latency", Title: "Ack latency", Unit: dedup.Seconds,
			Meaning: "From delivery to ack takes longer than the limit in the mean, so that work nears the time after which it is delivered again.",
			Step:    "Compare the processing time with the ack latency: when both are long the work is slow, when only the ack is the prefetch is too large.",
		},
	}
}

func deadLetterRules() []Rule {
	return []Rule{
		{
			Name: "dead_letters", Title: "Dead letters",
			Limits:  Limits{Warning: Limit(1)},
			Meaning: "Dead letters wait beyond those that somebody acknowledged.",
			Step:    "Open the dead letters by reason, fix what made them die, then requeue them; acknowledge those that are to stay.",
		},
		{
			Name: "dead_letter_inflow", Title: "Dead-letter inflow",
			Limits:  Limits{Severe: Limit(10), Emergency: Limit(100)},
			Meaning: "Messages die faster than the limit, counted over the last hour.",
			Step:    "Look at the newest dead letters and at the consumers' logs of the same minutes: a deploy, a dependency that is down, a message that nobody can read.",
		},
		{
			Name: "shared_dead_letters", Title: "Shared-queue dead letters",
			Limits:  Limits{Warning: Limit(1)},
			Meaning: "Dead letters wait in a queue that several pipelines share, beyond those that somebody acknowledged: no pipeline alone is told of them.",
			Step:    "Open the queue and group its messages by the queue that they died in: that says whose they are. Then do as with other dead letters.",
		},
		{
			Name: "shared_dead_letter_inflow", Title: "Shared-queue inflow",
			Limits:  Limits{Severe: Limit(10), Emergency: Limit(100)},
			Meaning: "Messages arrive in a shared dead-letter queue faster than the limit, counted over the last hour.",
			Step:    "Look at the newest messages of the queue: the queue that they died in says which consumers' logs to read.",
		},
	}
}

func markerRules() []Rule {
	return []Rule{
		{
			Name: "stuck_markers", Title: "Stuck markers",
			Limits:  Limits{Warning: Limit(1), Severe: Limit(10)},
			Meaning: "Markers say that work is under way although nobody is at it, and hold their messages back or let them be skipped.",
			Step:    "Open the stuck markers, read the verdict of each, and clear those whose owner is gone.",
		},
		{
			Name: "markers_without_expiry", Title: "Markers without expiry",
			Limits:  Limits{Warning: Limit(1), Severe: Limit(100)},
			Meaning: "Markers lack the expiry that their scheme gives them: those of work under way block their message for ever, the others fill the store.",
			Step:    "Open the markers: clear those of work that nobody does, and give the others an expiry. Then let consumers set marker and expiry in one command.",
		},
		{
			Name: "redelivery_loop", Title: "Redelivery loop", Measure: "looping",
			Limits:  Limits{Warning: Limit(10)},
			Meaning: "Messages that cannot proceed go round: they are delivered, returned and delivered again.",
			Step:    "Look for the marker that holds the message back, or for work that fails each time, in the consumers' logs.",
		},
		{
			Name: "unacked_without_ack", Title: "Unacked without an ack", Unit: dedup.Seconds, Timing: forAll(AtOnce),
			Limits:  Limits{Warning: Limit((10 * time.Minute).Seconds())},
			Meaning: "Consumers hold messages and have acked none for as long as the limit, or as max_processing where that is longer.",
			Step:    "Look whether the consumers hang: a dependency without a time limit, a deadlock, a connection that is half open.",
		},
	}
}

func workRules() []Rule {
	return []Rule{
		{
			Name: "lost_messages", Title: "Lost messages", Timing: forAll(AtOnce),
			Limits:  Limits{Severe: Limit(1), Emergency: Limit(10)},
			Meaning: "In the last hour messages were acked although their work was not done: swallowed on a marker, given up, or failed and acked.",
			Step:    "Take the ids from the lists of failed and given-up markers, fix the cause, clear the markers, and send the messages again.",
		},
		{
			Name: "double_effects", Title: "Double effects", Timing: forAll(AtOnce),
			Limits:  Limits{Emergency: Limit(1)},
			Meaning: "In the last 24 hours work was done twice, which is what dedup exists to prevent.",
			Step:    "Undo the second effect of each business key that is listed, then see why no marker stopped it.",
		},
		{
			Name: "failure_rate", Title: "Failure rate", Unit: dedup.Ratio, MinCount: 50,
			Limits:  Limits{Warning: Limit(0.05), Severe: Limit(0.20)},
			Meaning: "More of the attempts at the work than the limit failed.",
			Step:    "Look in the consumers' logs for the commonest error, and whether it began with a deploy or with a dependency.",
		},
		{
			Name: "ack_timeouts", Title: "Ack timeouts",
			Limits:  Limits{Warning: Limit(1), Severe: Limit(10)},
			Meaning: "Consumers held a delivery for longer than consumer_timeout: the broker closed their channels, and delivers again what they held.",
			Step:    "Look for work that takes longer than consumer_timeout, or for a prefetch so large that messages wait that long.",
		},
	}
}

func consumerRules() []Rule {
	return []Rule{
		{
			Name: "backlog", Title: "Backlog", Measure: "ready", Disabled: true,
			Meaning: "More messages wait than the limit, which only whoever knows the pipeline can set.",
			Step:    "Compare what arrives with what is acked: consumers are too few, too slow, or away.",
		},
		{
			Name: "no_consumers", Title: "No consumers", Findings: []string{"no_consumers"},
			Timing:  forAll(30 * time.Second),
			Meaning: "Messages wait in a queue that has had no consumer for a minute: half of it until it is found, half until it fires.",
			Step:    "Start the consumers, or see in their logs why they left.",
		},
		{
			Name: "consumer_restarts", Title: "Consumer restarts",
			Limits:  Limits{Warning: Limit(12), Severe: Limit(60)},
			Meaning: "Consumers end and others take their place more often than the limit, and what they held is delivered again.",
			Step:    "Look why they end: the exit code, memory, a failing health check, a message that makes them crash.",
		},
		{
			Name: "auto_ack", Title: "Automatic acks", Findings: []string{"auto_ack_consumers"}, Timing: forAll(AtOnce),
			Meaning: "Consumers take messages with automatic acks, and lose what they hold when they crash.",
			Step:    "Consume with manual acks, and ack after the work.",
		},
	}
}

func hazardRules() []Rule {
	return []Rule{
		{
			Name: "store_eviction", Title: "Store eviction", Findings: []string{"markers_evicted", "eviction_possible"}, Timing: forAll(AtOnce),
			Meaning: "The store throws markers away when its memory is full, or may: a message whose marker is gone runs twice.",
			Step:    "Give the server more memory, or set maxmemory-policy to noeviction.",
		},
		{
			Name: "findings", Title: "Findings", Findings: []string{EveryOtherFinding},
			Timing:  forAll(time.Minute),
			Meaning: "A hazard was found in a queue, a store or a scheme that no rule of its own tells of.",
			Step:    "Open the findings of the pipeline: each says what to fix.",
		},
	}
}

func sourceRules() []Rule {
	soon := forAll(time.Minute)
	return []Rule{
		{
			Name: "broker_alarm", Title: "Broker alarm", Timing: soon,
			Limits:  Limits{Severe: Limit(1)},
			Meaning: "A node has a memory or disk alarm, so that the broker takes no message from any publisher.",
			Step:    "Free memory or disk on the node; consumers go on, so that draining a long queue helps.",
		},
		{
			Name: "node_down", Title: "Node down", Timing: soon,
			Limits:  Limits{Severe: Limit(1)},
			Meaning: "A node of the broker does not run.",
			Step:    "Start the node, and read the end of its log first.",
		},
		{
			Name: "partition", Title: "Network partition", Timing: soon,
			Limits:  Limits{Emergency: Limit(1)},
			Meaning: "Nodes of the broker cannot see each other, so that either side may go on alone, and what one of them took may be dropped.",
			Step:    "Mend the network, then restart the side that is to give way, as RabbitMQ's guide on partitions says.",
		},
		{
			Name: "minority", Title: "Queues without service", Timing: soon,
			Limits:  Limits{Severe: Limit(1)},
			Meaning: "Queues are down, or quorum queues lack a majority of their members: they neither take nor give messages.",
			Step:    "Bring back the nodes of their members.",
		},
		{
			Name: "source_unreachable", Title: "Source unreachable", Unit: dedup.Seconds, Timing: forAll(AtOnce),
			Limits:  Limits{Severe: Limit((2 * time.Minute).Seconds())},
			Meaning: "A broker, a store, or what consumers report has not been read for three intervals, and whatever rests on it is not known.",
			Step:    "See whether it runs, and whether the watching account still gets in; what fires on it stays firing meanwhile.",
		},
	}
}

func selfRules() []Rule {
	return []Rule{
		{
			Name: "watchdog", Title: "Watchdog", Timing: forAll(AtOnce),
			Meaning: "It always fires: when it no longer arrives, the dashboard or the way from it is down.",
			Step:    "Nothing, while it arrives.",
		},
		{
			Name: "evaluation_late", Title: "Evaluation late", Unit: dedup.Seconds, Timing: forAll(AtOnce),
			Limits:  Limits{Warning: Limit(60), Severe: Limit(300)},
			Meaning: "Between two evaluations of the rules lay longer than the limit, in which nothing could fire.",
			Step:    "See whether the machine was stopped or overloaded, and read the dashboard's log of that time.",
		},
		{
			Name: "outbox_old", Title: "Notifications wait", Measure: "outbox_age", Unit: dedup.Seconds, Timing: forAll(AtOnce),
			Limits:  Limits{Warning: Limit((10 * time.Minute).Seconds()), Severe: Limit(time.Hour.Seconds())},
			Meaning: "A notification has waited for its delivery for longer than the limit: a channel does not take it.",
			Step:    "Open the channels on the alerts page: each says what its last delivery answered.",
		},
		{
			Name: "disk_nearly_full", Title: "Disk nearly full", Measure: "disk_used", Unit: dedup.Ratio,
			Limits:  Limits{Warning: Limit(0.90), Severe: Limit(0.95), Emergency: Limit(0.99), Leave: 0.98},
			Meaning: "The disk of the data directory is nearly full: without it there is no history, no audit and no notification.",
			Step:    "Free space on it, or give the data directory a larger disk.",
		},
		{
			Name: "delivery_failed", Title: "Delivery failed", Measure: "deliveries_failed", Timing: forAll(AtOnce),
			Limits:  Limits{Severe: Limit(1)},
			Meaning: "Notifications were given up within the hour, or a channel has taken none since: it refused them, or took none for a day.",
			Step:    "Read which channel and why, fix it, and send it a test.",
		},
		{
			Name: "delivery_in_part", Title: "Delivery in part", Measure: "receiver_faults", Unit: dedup.Seconds, Timing: forAll(AtOnce),
			Limits:  Limits{Warning: Limit((10 * time.Minute).Seconds())},
			Meaning: "A receiver of a channel took nothing of what it was sent for longer than the limit, and another one took it in its stead.",
			Step:    "Read which one and why: whoever relies on it alone is told nothing, and when the other one fails nobody is.",
		},
		{
			Name: "audit_refused", Title: "Audit refused", Timing: forAll(AtOnce),
			Limits:  Limits{Severe: Limit(1)},
			Meaning: "The audit log takes no entry, so that nothing can be acted on.",
			Step:    "Read why: usually the disk of the data directory is full, or its rights were changed.",
		},
	}
}

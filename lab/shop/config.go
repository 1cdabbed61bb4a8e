// Package shop is a sample shop on a real RabbitMQ and a real Redis: producers that sometimes resend, idempotent
// consumers that sometimes fail, crash or lose an ack, and a ledger of what truly happened.
package shop

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// SchemeName names how a pipeline's consumers keep their markers.
type SchemeName string

// The schemes of the shop; their encodings are those of the presets with the same names.
const (
	// TextStatus keeps `processing` and `done` in msg:{id} and counts failures in retry:{id}.
	TextStatus SchemeName = "redis-text-status"
	// JSONStatus keeps `processing` or a JSON object in msg:dedup:{id}.
	JSONStatus SchemeName = "redis-json-status"
	// Timestamp keeps the time of the claim in dedup:{id} and acks whatever finds it there, done or not.
	Timestamp SchemeName = "redis-timestamp"
)

// Config says what the shop does. The same seed gives every message the same fate.
type Config struct {
	Seed      uint64
	Pipelines []PipelineConfig
}

// PipelineConfig describes the traffic and the faults of one pipeline. Shares are 0..1 and are drawn per message or
// per attempt, whichever makes sense for the fault.
type PipelineConfig struct {
	// Name is also the name of the queue; the dead-letter queue is Name + ".dlq".
	Name   string
	Scheme SchemeName
	// DB is the Redis logical database of the pipeline's markers.
	DB int
	// OwnStore keeps the markers on a Redis server that no other pipeline uses, so that its count of commands is theirs alone.
	OwnStore bool
	// Rate is in messages per second, without resent copies, while the producer is not resting.
	Rate float64
	// Delay is how long the producer waits before its first message.
	Delay time.Duration
	// Burst and Rest make the producer publish and pause in turns, as batches of customers do; without Rest it never pauses.
	Burst     time.Duration
	Rest      time.Duration
	Consumers int
	Prefetch  int
	// Resend is the share of messages that the producer sends twice, as after a lost confirm.
	Resend float64
	// LostAck is the share of finished deliveries whose channel closes before the ack is sent.
	LostAck float64
	// Failure is the share of attempts that fail and are returned to the queue.
	Failure float64
	// Poison is the share of messages that fail at every attempt.
	Poison float64
	// Crash is the share of messages whose first consumer dies in the middle of the work, its marker in place.
	Crash float64
	// Reject is the share of messages that are refused to the dead-letter queue before any work.
	Reject float64
	// RejectMarked is the share of messages that are refused in the middle of the work, so that their marker stays.
	RejectMarked float64
	// Stuck is the number of messages whose consumer dies between SETNX and EXPIRE: they loop for ever. TextStatus only.
	Stuck int
	// Work is the median of the work time, Spread the sigma of its log-normal distribution.
	Work   time.Duration
	Spread float64
	// MaxProcessing is what the dashboard is told about the longest time that processing takes.
	MaxProcessing time.Duration
	// RequeueDelay is how long a consumer holds a delivery whose marker is in flight before it returns it.
	RequeueDelay time.Duration
	// Report makes consumers count their outcomes in the Redis hash dedupstats:{Name}.
	Report bool
	// DeadLetterPolicy says by a policy what dies and goes where, through a direct exchange; otherwise arguments of the
	// queue do, which lead through the default exchange where nobody has to examine the deaths.
	DeadLetterPolicy bool
	// DeliveryLimit makes source and dead-letter queue quorum queues and is how many returns to the source a message
	// survives; 0 keeps both classic and without a limit.
	DeliveryLimit int
	// MessageTTL is how long a message may wait in the source, MaxLength how many may; the oldest goes first. 0 is no limit.
	MessageTTL time.Duration
	MaxLength  int
	// RetryDelay sends a failed message through the queue Name + ".retry", which leads back to the source after this
	// time; a consumer that gives a message up then publishes it to the dead-letter queue itself. TextStatus only: no
	// other scheme gives up. Nothing is refused before its work then: it would go round for ever. 0 retries at once.
	RetryDelay time.Duration
	// DeadLetterMissing names a dead-letter exchange that nobody declares: the broker drops what is rejected. It is not for
	// pipelines with one of the limits above: nobody can count what these drop.
	DeadLetterMissing bool
	// Inherited puts dead letters of an earlier day into the dead-letter queue when the shop opens, and their markers,
	// in every state, into the store.
	Inherited bool
}

// DeadLetterQueue is the name of the pipeline's dead-letter queue.
func (p PipelineConfig) DeadLetterQueue() string { return p.Name + ".dlq" }

// RetryQueue is the name of the queue in which failed messages wait, where RetryDelay asks for one.
func (p PipelineConfig) RetryQueue() string { return p.Name + ".retry" }

// Astray is true where the topology alone does not lead to the dead-letter queue, or not only there: to the retry queue
// instead, or also to the examiner's. The dashboard must be told its name.
func (p PipelineConfig) Astray() bool { return p.examined() || p.RetryDelay > 0 }

// examined is true where the broker itself makes dead letters, so that only it knows of which messages.
func (p PipelineConfig) examined() bool {
	return p.DeliveryLimit > 0 || p.MessageTTL > 0 || p.MaxLength > 0
}

// restful is how long after the shop opens its batches begin: by then the dashboard has read broker and stores at rest,
// counters up to 6 s old included, so that the first window begins in the quiet.
const restful = 15 * time.Second

// DefaultConfig is a shop of nine pipelines with about 70 messages per second on average. Payments, inventory and emails
// come in batches: between two batches the broker's late counters catch up, so that the interval of the rate is narrow
// within the first minute. Orders and shipping never rest. The last four die in their own ways: refunds by a delivery
// limit, notifications by age and by number in each campaign, invoices after delayed retries, and what loyalty rejects is lost.
// Orders, payments and shipping have a Redis server each, so that store events stand against its commands; the others share one.
func DefaultConfig() Config {
	return Config{Seed: 1, Pipelines: []PipelineConfig{
		{Name: "orders", Scheme: TextStatus, DB: 0, OwnStore: true, Rate: 25, Consumers: 2, Prefetch: 10, Resend: 0.012, LostAck: 0.003,
			Failure: 0.01, Reject: 0.004, Work: 15 * time.Millisecond, Spread: 0.7, Report: true},
		{Name: "payments", Scheme: JSONStatus, DB: 1, OwnStore: true, Rate: 120, Delay: restful, Burst: 7 * time.Second, Rest: 53 * time.Second, Consumers: 2, Prefetch: 5, Resend: 0.02, LostAck: 0.0004,
			Failure: 0.002, Reject: 0.005, Work: 8 * time.Millisecond, Spread: 0.5},
		{Name: "emails", Scheme: TextStatus, DB: 2, Rate: 35, Delay: restful, Burst: 7 * time.Second, Rest: 58 * time.Second, Consumers: 3, Prefetch: 5, Resend: 0.02, LostAck: 0.001,
			Failure: 0.006, Poison: 0.001, Reject: 0.008, Work: 30 * time.Millisecond, Spread: 0.6},
		{Name: "inventory", Scheme: JSONStatus, DB: 3, Rate: 60, Delay: restful, Burst: 7 * time.Second, Rest: 65 * time.Second, Consumers: 2, Prefetch: 5, Resend: 0.015, LostAck: 0.001,
			Failure: 0.003, Reject: 0.012, RejectMarked: 0.004, Work: 12 * time.Millisecond, Spread: 0.5, Inherited: true},
		{Name: "shipping", Scheme: TextStatus, DB: 4, OwnStore: true, Rate: 8, Consumers: 2, Prefetch: 5, Resend: 0.02, LostAck: 0.002,
			Failure: 0.005, Crash: 0.0005, Reject: 0.01, Stuck: 1, Work: 20 * time.Millisecond, Spread: 0.6, DeadLetterPolicy: true},
		{Name: "refunds", Scheme: JSONStatus, DB: 5, Rate: 4, Consumers: 2, Prefetch: 5, Resend: 0.02, LostAck: 0.001,
			Failure: 0.005, Poison: 0.015, Crash: 0.004, Reject: 0.004, Work: 20 * time.Millisecond, Spread: 0.6, DeliveryLimit: 4, Inherited: true},
		{Name: "notifications", Scheme: Timestamp, DB: 6, Rate: 60, Delay: restful, Burst: 4 * time.Second, Rest: 176 * time.Second, Consumers: 1, Prefetch: 5, Resend: 0.02, LostAck: 0.001,
			Failure: 0.005, Reject: 0.01, RejectMarked: 0.01, Work: 50 * time.Millisecond, Spread: 0.3, DeadLetterPolicy: true, MessageTTL: 5 * time.Second, MaxLength: 120, Inherited: true},
		{Name: "invoices", Scheme: TextStatus, DB: 7, Rate: 3, Consumers: 2, Prefetch: 5, Resend: 0.02,
			Failure: 0.03, Poison: 0.002, Work: 25 * time.Millisecond, Spread: 0.6, RetryDelay: 4 * time.Second, Inherited: true},
		{Name: "loyalty", Scheme: TextStatus, DB: 8, Rate: 3, Consumers: 1, Prefetch: 5, Resend: 0.02,
			Failure: 0.005, Reject: 0.02, Work: 10 * time.Millisecond, Spread: 0.5, DeadLetterMissing: true},
	}}.withTimes()
}

func (c Config) withTimes() Config {
	for i := range c.Pipelines {
		c.Pipelines[i].RequeueDelay, c.Pipelines[i].MaxProcessing = 300*time.Millisecond, 30*time.Second
	}
	return c
}

// Only keeps the named pipelines, given as names separated by commas, and closes the others.
func (c *Config) Only(names string) error {
	var kept []PipelineConfig
	for name := range strings.SplitSeq(names, ",") {
		p, ok := c.Pipeline(name)
		if !ok {
			return fmt.Errorf("%q: no pipeline %q", names, name)
		}
		if slices.ContainsFunc(kept, func(k PipelineConfig) bool { return k.Name == name }) {
			return fmt.Errorf("%q: names %q twice", names, name)
		}
		kept = append(kept, *p)
	}
	c.Pipelines = kept
	return nil
}

// Pipeline returns the named pipeline's configuration and whether there is one.
func (c *Config) Pipeline(name string) (*PipelineConfig, bool) {
	for i := range c.Pipelines {
		if c.Pipelines[i].Name == name {
			return &c.Pipelines[i], true
		}
	}
	return nil, false
}

// knobs are the settings that Set can turn, by name.
func knobs() map[string]func(*PipelineConfig, string) error {
	share := func(field func(*PipelineConfig) *float64) func(*PipelineConfig, string) error {
		return func(p *PipelineConfig, text string) error {
			return parseFloat(text, 1, field(p))
		}
	}
	count := func(field func(*PipelineConfig) *int) func(*PipelineConfig, string) error {
		return func(p *PipelineConfig, text string) error { return parseCount(text, field(p)) }
	}
	return map[string]func(*PipelineConfig, string) error{
		"resend":         share(func(p *PipelineConfig) *float64 { return &p.Resend }),
		"lost-ack":       share(func(p *PipelineConfig) *float64 { return &p.LostAck }),
		"failure":        share(func(p *PipelineConfig) *float64 { return &p.Failure }),
		"poison":         share(func(p *PipelineConfig) *float64 { return &p.Poison }),
		"crash":          share(func(p *PipelineConfig) *float64 { return &p.Crash }),
		"reject":         share(func(p *PipelineConfig) *float64 { return &p.Reject }),
		"reject-marked":  share(func(p *PipelineConfig) *float64 { return &p.RejectMarked }),
		"rate":           func(p *PipelineConfig, text string) error { return parseFloat(text, 10_000, &p.Rate) },
		"spread":         func(p *PipelineConfig, text string) error { return parseFloat(text, 3, &p.Spread) },
		"stuck":          count(func(p *PipelineConfig) *int { return &p.Stuck }),
		"consumers":      count(func(p *PipelineConfig) *int { return &p.Consumers }),
		"prefetch":       count(func(p *PipelineConfig) *int { return &p.Prefetch }),
		"work":           func(p *PipelineConfig, text string) error { return parseDuration(text, &p.Work) },
		"delay":          func(p *PipelineConfig, text string) error { return parseDuration(text, &p.Delay) },
		"burst":          func(p *PipelineConfig, text string) error { return parseDuration(text, &p.Burst) },
		"rest":           func(p *PipelineConfig, text string) error { return parseDuration(text, &p.Rest) },
		"retry-delay":    func(p *PipelineConfig, text string) error { return parseDuration(text, &p.RetryDelay) },
		"message-ttl":    func(p *PipelineConfig, text string) error { return parseDuration(text, &p.MessageTTL) },
		"max-length":     count(func(p *PipelineConfig) *int { return &p.MaxLength }),
		"delivery-limit": count(func(p *PipelineConfig) *int { return &p.DeliveryLimit }),
		"inherited":      func(p *PipelineConfig, text string) error { return parseBool(text, &p.Inherited) },
		"requeue-delay":  func(p *PipelineConfig, text string) error { return parseDuration(text, &p.RequeueDelay) },
		"max-processing": func(p *PipelineConfig, text string) error {
			if err := parseDuration(text, &p.MaxProcessing); err != nil || p.MaxProcessing < time.Second {
				return fmt.Errorf("want a duration from 1s to 10m")
			}
			return nil
		},
	}
}

// KnobNames returns the names that Set knows, sorted.
func KnobNames() []string {
	var names []string
	for name := range knobs() {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Set turns one knob, written PIPELINE.KNOB=VALUE; the pipeline * means all of them.
func (c *Config) Set(setting string) error {
	path, value, ok := strings.Cut(setting, "=")
	pipeline, knob, ok2 := strings.Cut(path, ".")
	if !ok || !ok2 {
		return fmt.Errorf("%q: want PIPELINE.KNOB=VALUE, as in orders.resend=0.05", setting)
	}
	turn, ok := knobs()[knob]
	if !ok {
		return fmt.Errorf("%q: unknown knob %q; there are %s", setting, knob, strings.Join(KnobNames(), ", "))
	}
	found := false
	for i := range c.Pipelines {
		if pipeline != "*" && pipeline != c.Pipelines[i].Name {
			continue
		}
		found = true
		if err := turn(&c.Pipelines[i], value); err != nil {
			return fmt.Errorf("%q: %w", setting, err)
		}
	}
	if !found {
		return fmt.Errorf("%q: no pipeline %q", setting, pipeline)
	}
	return nil
}

func parseFloat(text string, highest float64, to *float64) error {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value >= 0 && value <= highest) {
		return fmt.Errorf("want a number from 0 to %g", highest)
	}
	*to = value
	return nil
}

func parseCount(text string, to *int) error {
	value, err := strconv.Atoi(text)
	if err != nil || value < 0 || value > 1000 {
		return fmt.Errorf("want a whole number from 0 to 1000")
	}
	*to = value
	return nil
}

func parseBool(text string, to *bool) error {
	value, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("want true or false")
	}
	*to = value
	return nil
}

func parseDuration(text string, to *time.Duration) error {
	value, err := time.ParseDuration(text)
	if err != nil || value < 0 || value > 10*time.Minute {
		return fmt.Errorf("want a duration from 0s to 10m")
	}
	*to = value
	return nil
}

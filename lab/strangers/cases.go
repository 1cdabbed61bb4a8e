package main

import (
	"context"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// deadLetters gives a queue a dead-letter queue of its own by the default exchange.
func deadLetters(to string, more ...any) amqp.Table {
	t := amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": to}
	for i := 0; i+1 < len(more); i += 2 {
		t[more[i].(string)] = more[i+1]
	}
	return t
}

func queue(name string, args amqp.Table) func(*amqp.Channel) error {
	return func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(name, true, false, false, false, args)
		return err
	}
}

func all(fs ...func(*amqp.Channel) error) func(*amqp.Channel) error {
	return func(ch *amqp.Channel) error {
		for _, f := range fs {
			if err := f(ch); err != nil {
				return err
			}
		}
		return nil
	}
}

// delay declares a queue that gives back to another one after a while.
func delay(name, back string, ttl int) func(*amqp.Channel) error {
	return queue(name, amqp.Table{"x-message-ttl": int32(ttl), "x-dead-letter-exchange": "", "x-dead-letter-routing-key": back})
}

// REDIS is replaced by the address of the pipe's Redis, DSN by that of its database.
func batchOne() []*pipe {
	return []*pipe{
		{
			name: "spring-retry", queues: []string{"spring-retry"}, args: deadLetters("spring-retry.wait"),
			more: all(delay("spring-retry.wait", "spring-retry", 3000), queue("spring-retry.parking", nil)), dead: []string{"spring-retry.parking"},
			rate: 14, again: 0.04, againIn: between(1*sec, 4*sec), consumers: 3, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.06, poison: 0.02,
			onFail: "park", tries: 3, parking: "spring-retry.parking", onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("spring:"), server: "a",
			store:  `{name: spring-retry, preset: redis-text-status, redis: {url: "REDIS"}, match: "spring:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: spring-retry, queues: [spring-retry], store: spring-retry, dead_letter_queues: [spring-retry.parking], id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "spring-waits", queues: []string{"spring-waits"}, args: deadLetters("spring-waits.wait"),
			more: all(delay("spring-waits.wait", "spring-waits", 2500), queue("spring-waits.parking", nil)), dead: []string{"spring-waits.parking"},
			rate: 10, again: 0.10, againIn: between(50*ms, 1500*ms), consumers: 8, prefetch: 5, median: 350 * ms, sigma: 0.5, failFirst: 0.05, poison: 0.01,
			onFail: "park", tries: 3, parking: "spring-waits.parking", onFlight: "reject",
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("waits:"), server: "a",
			store:  `{name: spring-waits, preset: redis-text-status, redis: {url: "REDIS"}, match: "waits:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: spring-waits, queues: [spring-waits], store: spring-waits, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "setnx-ex", queues: []string{"setnx-ex"}, args: deadLetters("setnx-ex.dlq"), more: queue("setnx-ex.dlq", nil), dead: []string{"setnx-ex.dlq"},
			rate: 15, again: 0.05, againIn: between(100*ms, 3*sec), consumers: 4, prefetch: 20, median: 50 * ms, sigma: 0.8, failFirst: 0.02, poison: 0.005,
			onFail: "reject", onFlight: "requeue", flightDelay: 200 * ms, flightBlocks: true,
			scheme: setNXEX(120*sec, time.Hour, 0), keyOf: prefix("evt:seen:"), server: "c",
			store:  `{name: setnx-ex, preset: redis-text-status, redis: {url: "REDIS"}, match: "evt:seen:*", ttl: {processing: 120s, done: 1h}, retry: {match: "", give_up: 0}, ask: "", events: true}`,
			config: `{name: setnx-ex, queues: [setnx-ex], store: setnx-ex, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "lua-claim", queues: []string{"lua-claim"}, rate: 15, again: 0.06, againIn: between(20*ms, 2*sec), consumers: 3, prefetch: 10, median: 60 * ms, sigma: 0.5, failFirst: 0.03,
			onFail: "requeue", failDelay: 500 * ms, onFlight: "requeue", flightDelay: 200 * ms,
			scheme: lua(60*sec, time.Hour), keyOf: prefix("idem:v2:"), server: "e",
			store:  `{name: lua-claim, preset: redis-text-status, redis: {url: "REDIS"}, match: "idem:v2:*", ttl: {processing: 60s, done: 1h}, retry: {match: "", give_up: 0}, ask: GET, events: true}`,
			config: `{name: lua-claim, queues: [lua-claim], store: lua-claim, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "multi-exec", queues: []string{"multi-exec"}, args: deadLetters("multi-exec.dlq"), more: queue("multi-exec.dlq", nil), dead: []string{"multi-exec.dlq"},
			rate: 12, again: 0.08, againIn: between(20*ms, 5*sec), consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.6, failFirst: 0.03, poison: 0.003,
			onFail: "reject", onFlight: "requeue", flightDelay: 150 * ms,
			scheme: multi(60*sec, 24*time.Hour), keyOf: prefix("tx:msg:"), server: "a", db0: 1,
			store:  `{name: multi-exec, preset: redis-text-status, redis: {url: "REDIS"}, match: "tx:msg:*", ttl: {processing: 60s}, retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: multi-exec, queues: [multi-exec], store: multi-exec, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "batch-acks", queues: []string{"batch-acks"}, rate: 20, again: 0.03, againIn: between(1*sec, 5*sec), consumers: 2, prefetch: 50, batch: 10, median: 15 * ms, sigma: 0.4,
			onFail: "requeue", onFlight: "requeue", crash: 50 * sec,
			scheme: doneFlag("EXISTS", 24*time.Hour), keyOf: prefix("handled:"), server: "b",
			store:  `{name: batch-acks, preset: redis-flag, redis: {url: "REDIS"}, match: "handled:*", ask: EXISTS, acks: batch, events: true}`,
			config: `{name: batch-acks, queues: [batch-acks], store: batch-acks, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "unlimited", queues: []string{"unlimited"}, rate: 12, again: 0.03, againIn: between(200*ms, 3*sec), consumers: 2, prefetch: 0, median: 60 * ms, sigma: 0.7, failFirst: 0.02,
			onFail: "requeue", failDelay: 300 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: jsonStatus(300*sec, 24*time.Hour), keyOf: prefix("msg:dedup:"), server: "a",
			store:  `{name: unlimited, preset: redis-json-status, redis: {url: "REDIS"}, events: true}`,
			config: `{name: unlimited, queues: [unlimited], store: unlimited, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "polls", queues: []string{"polls"}, args: deadLetters("polls.dlq"), more: queue("polls.dlq", nil), dead: []string{"polls.dlq"},
			rate: 8, again: 0.05, againIn: between(500*ms, 3*sec), consumers: 2, get: true, median: 50 * ms, sigma: 0.4, failFirst: 0.02, poison: 0.005,
			onFail: "reject", onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("poll:"), server: "b",
			store:  `{name: polls, preset: redis-text-status, redis: {url: "REDIS"}, match: "poll:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: polls, queues: [polls], store: polls, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "quorum", queues: []string{"quorum"}, args: deadLetters("quorum.dlq", "x-queue-type", "quorum", "x-delivery-limit", int32(3)),
			more: queue("quorum.dlq", amqp.Table{"x-queue-type": "quorum"}), dead: []string{"quorum.dlq"},
			rate: 12, again: 0.03, againIn: between(1*sec, 4*sec), consumers: 3, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.03, poison: 0.015,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 200 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("qq:"), server: "d",
			store:  `{name: quorum, preset: redis-text-status, redis: {url: "REDIS"}, match: "qq:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: quorum, queues: [quorum], store: quorum, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "priority", queues: []string{"priority"}, args: deadLetters("priority.dlq", "x-max-priority", int32(5)), more: queue("priority.dlq", nil), dead: []string{"priority.dlq"},
			rate: 12, again: 0.04, againIn: between(1*sec, 4*sec), consumers: 2, prefetch: 1, median: 110 * ms, sigma: 0.4, failFirst: 0.02, poison: 0.002, priority: true,
			onFail: "reject", onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("prio:"), server: "b",
			store:  `{name: priority, preset: redis-text-status, redis: {url: "REDIS"}, match: "prio:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: priority, queues: [priority], store: priority, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "single-active", queues: []string{"single-active"}, args: amqp.Table{"x-single-active-consumer": true},
			rate: 10, again: 0.03, againIn: between(1*sec, 4*sec), consumers: 3, prefetch: 20, median: 25 * ms, sigma: 0.5, failFirst: 0.01,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 100 * ms, failover: 60 * sec,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("sac:"), server: "a",
			store:  `{name: single-active, preset: redis-text-status, redis: {url: "REDIS"}, match: "sac:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: single-active, queues: [single-active], store: single-active, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "crashes", queues: []string{"crashes"}, rate: 15, again: 0.03, againIn: between(1*sec, 4*sec), consumers: 3, prefetch: 30, median: 70 * ms, sigma: 0.5, failFirst: 0.01,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 500 * ms, crash: 20 * sec,
			scheme: textStatus(40*sec, 24*time.Hour), keyOf: prefix("crash:"), server: "b",
			store:  `{name: crashes, preset: redis-text-status, redis: {url: "REDIS"}, match: "crash:*", ttl: {processing: 40s}, retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: crashes, queues: [crashes], store: crashes, dead_letter_queues: auto, id: {from: message_id}, max_processing: 10s}`,
		},
		{
			name: "maria-status", queues: []string{"maria-status"}, args: deadLetters("maria-status.dlq"), more: queue("maria-status.dlq", nil), dead: []string{"maria-status.dlq"},
			rate: 12, again: 0.05, againIn: between(20*ms, 3*sec), consumers: 3, prefetch: 10, median: 50 * ms, sigma: 0.5, failFirst: 0.03, poison: 0.003,
			onFail: "reject", onFlight: "requeue", flightDelay: 200 * ms, sql: "mysql",
			tables: []string{`CREATE TABLE inbox (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, status TINYINT NOT NULL DEFAULT 0,
				created_at DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3), updated_at DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3))`},
			scheme: statusRow("INSERT INTO inbox (message_id, status) VALUES (?, 0)", "SELECT status FROM inbox WHERE message_id = ?",
				"UPDATE inbox SET status = 1 WHERE message_id = ?", "DELETE FROM inbox WHERE message_id = ?", "1"), keyOf: prefix(""),
			store:  `{name: maria-status, preset: sql-status-code, sql: {driver: mysql, dsn: "DSN"}, table: inbox, columns: {business_key: ""}, on_inflight: nack, on_fail: delete}`,
			config: `{name: maria-status, queues: [maria-status], store: maria-status, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "pg-conflict", queues: []string{"pg-conflict"}, args: deadLetters("pg-conflict.dlq"), more: queue("pg-conflict.dlq", nil), dead: []string{"pg-conflict.dlq"},
			rate: 12, again: 0.05, againIn: between(20*ms, 3*sec), consumers: 3, prefetch: 10, median: 50 * ms, sigma: 0.5, failFirst: 0.03, poison: 0.003,
			onFail: "reject", onFlight: "requeue", flightDelay: 200 * ms, sql: "pgx",
			tables: []string{`CREATE TABLE processed_events (id BIGSERIAL PRIMARY KEY, event_id VARCHAR(64) NOT NULL UNIQUE, state VARCHAR(16) NOT NULL, created_at TIMESTAMPTZ NOT NULL DEFAULT now())`},
			scheme: statusRow("INSERT INTO processed_events (event_id, state) VALUES ($1, 'NEW') ON CONFLICT (event_id) DO NOTHING", "SELECT state FROM processed_events WHERE event_id = $1",
				"UPDATE processed_events SET state = 'DONE' WHERE event_id = $1", "DELETE FROM processed_events WHERE event_id = $1", "DONE"), keyOf: prefix(""),
			store: `{name: pg-conflict, preset: sql-status-name, sql: {driver: postgres, dsn: "DSN"}, table: processed_events, columns: {id: event_id, business_key: "", status: state, created: created_at},
     states: {processing: [NEW], done: [DONE], failed: []}, on_inflight: nack, on_fail: delete}`,
			config: `{name: pg-conflict, queues: [pg-conflict], store: pg-conflict, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
	}
}

func batchTwo() []*pipe {
	fan := func(ch *amqp.Channel) error {
		if err := ch.ExchangeDeclare("fan", "fanout", true, false, false, false, nil); err != nil {
			return err
		}
		for _, q := range []string{"fan-a", "fan-b"} {
			if _, err := ch.QueueDeclare(q, true, false, false, false, nil); err != nil {
				return err
			}
			if err := ch.QueueBind(q, "", "fan", false, nil); err != nil {
				return err
			}
		}
		return nil
	}
	return []*pipe{
		{
			name: "pg-tx", queues: []string{"pg-tx"}, args: deadLetters("pg-tx.dlq"), more: queue("pg-tx.dlq", nil), dead: []string{"pg-tx.dlq"},
			rate: 10, again: 0.05, againIn: between(20*ms, 3*sec), consumers: 3, prefetch: 10, median: 50 * ms, sigma: 0.5, failFirst: 0.03, poison: 0.003, onFail: "reject", sql: "pgx", crash: 60 * sec,
			tables: []string{`CREATE TABLE handled (message_id VARCHAR(64) PRIMARY KEY, handled_at TIMESTAMPTZ NOT NULL DEFAULT now())`, `CREATE TABLE work (id BIGSERIAL PRIMARY KEY, ref TEXT)`},
			scheme: oneTransaction("INSERT INTO handled (message_id) VALUES ($1) ON CONFLICT DO NOTHING", "INSERT INTO work (ref) VALUES ($1)"), keyOf: prefix(""),
			store:  `{name: pg-tx, preset: sql-unique-row, sql: {driver: postgres, dsn: "DSN"}, table: handled, columns: {id: message_id, created: handled_at}, insert_first: true, transactional: true}`,
			config: `{name: pg-tx, queues: [pg-tx], store: pg-tx, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "maria-ignore", queues: []string{"maria-ignore"}, args: deadLetters("maria-ignore.dlq"), more: queue("maria-ignore.dlq", nil), dead: []string{"maria-ignore.dlq"},
			rate: 10, again: 0.06, againIn: between(20*ms, 3*sec), consumers: 3, prefetch: 10, median: 50 * ms, sigma: 0.5, failFirst: 0.04, onFail: "requeue", failDelay: 300 * ms, sql: "mysql",
			tables: []string{`CREATE TABLE processed_messages (message_id VARCHAR(64) PRIMARY KEY, create_time DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3))`, `CREATE TABLE work (id BIGINT AUTO_INCREMENT PRIMARY KEY, ref VARCHAR(64))`},
			scheme: oneTransaction("INSERT IGNORE INTO processed_messages (message_id) VALUES (?)", "INSERT INTO work (ref) VALUES (?)"), keyOf: prefix(""),
			store:  `{name: maria-ignore, preset: sql-unique-row, sql: {driver: mysql, dsn: "DSN"}, table: processed_messages, columns: {id: message_id}, insert_first: true, transactional: true}`,
			config: `{name: maria-ignore, queues: [maria-ignore], store: maria-ignore, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "json-ids", queues: []string{"json-ids"}, rate: 12, again: 0.06, againIn: between(10*ms, 3*sec), jsonID: true, consumers: 3, prefetch: 10, median: 40 * ms, sigma: 0.6, failFirst: 0.02,
			onFail: "requeue", failDelay: 200 * ms, scheme: timestamp(24 * time.Hour), keyOf: upper("Shop[EU]*:DEDUP:"), server: "a", db0: 2,
			store:  `{name: json-ids, preset: redis-timestamp, redis: {url: "REDIS"}, match: 'Shop\[EU\]\*:DEDUP:*', id: '^Shop\[EU\]\*:DEDUP:(.+)$', events: true}`,
			config: `{name: json-ids, queues: [json-ids], store: json-ids, dead_letter_queues: auto, id: {from: "json:$.event.id"}, max_processing: 30s}`,
		},
		{
			name: "thin", queues: []string{"thin"}, rate: 0.125, again: 0.25, againIn: between(1*sec, 4*sec), consumers: 1, prefetch: 5, median: 200 * ms, sigma: 0.4, failFirst: 0.05,
			onFail: "requeue", failDelay: 500 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("thin:"), server: "b",
			store:  `{name: thin, preset: redis-text-status, redis: {url: "REDIS"}, match: "thin:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: thin, queues: [thin], store: thin, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "bursts", queues: []string{"bursts"}, burst: 300, burstEach: 45 * sec, again: 0.05, againIn: between(500*ms, 8*sec), consumers: 4, prefetch: 20, median: 60 * ms, sigma: 0.5, failFirst: 0.03,
			onFail: "requeue", failDelay: 300 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: jsonStatus(300*sec, 24*time.Hour), keyOf: prefix("msg:dedup:"), server: "a",
			store:  `{name: bursts, preset: redis-json-status, redis: {url: "REDIS"}, events: true}`,
			config: `{name: bursts, queues: [bursts], store: bursts, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "twins", queues: []string{"twins"}, rate: 9, again: 0.4, twins: true, consumers: 6, prefetch: 10, median: 60 * ms, sigma: 0.6, failFirst: 0.02,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("twin:"), server: "c",
			store:  `{name: twins, preset: redis-text-status, redis: {url: "REDIS"}, match: "twin:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: twins, queues: [twins], store: twins, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "two-queues", queues: []string{"two-a", "two-b"}, rate: 14, again: 0.05, againIn: between(1*sec, 4*sec), consumers: 2, prefetch: 10, median: 50 * ms, sigma: 0.6, failFirst: 0.02,
			onFail: "requeue", failDelay: 200 * ms, scheme: doneFlag("GET", 24*time.Hour), keyOf: prefix("two:done:"), server: "b",
			store:  `{name: two-queues, preset: redis-flag, redis: {url: "REDIS"}, match: "two:done:*", ask: GET, events: true}`,
			config: `{name: two-queues, queues: [two-a, two-b], store: two-queues, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "prefix-a", queues: []string{"prefix-a"}, rate: 10, again: 0.02, againIn: between(1*sec, 4*sec), consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.01,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("app:a:"), server: "d",
			store:  `{name: prefix-a, preset: redis-text-status, redis: {url: "REDIS"}, match: "app:a:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: prefix-a, queues: [prefix-a], store: prefix-a, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "prefix-b", queues: []string{"prefix-b"}, rate: 10, again: 0.12, againIn: between(1*sec, 4*sec), consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.01,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("app:b:"), server: "d",
			store:  `{name: prefix-b, preset: redis-text-status, redis: {url: "REDIS"}, match: "app:b:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: prefix-b, queues: [prefix-b], store: prefix-b, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "short-lives", queues: []string{"short-lives"}, rate: 10, again: 0.10, againIn: between(5*sec, 40*sec), consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.02,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(10*sec, 20*sec), keyOf: prefix("short:"), server: "b",
			store:  `{name: short-lives, preset: redis-text-status, redis: {url: "REDIS"}, match: "short:*", ttl: {processing: 10s, done: 20s}, retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: short-lives, queues: [short-lives], store: short-lives, dead_letter_queues: auto, id: {from: message_id}, max_processing: 5s}`,
		},
		{
			name: "fan-a", queues: []string{"fan-a"}, more: fan, exchange: "fan", rate: 9, again: 0.04, againIn: between(1*sec, 4*sec), consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.02,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("fan:a:"), server: "a",
			store:  `{name: fan-a, preset: redis-text-status, redis: {url: "REDIS"}, match: "fan:a:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: fan-a, queues: [fan-a], store: fan-a, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "fan-b", queues: []string{"fan-b"}, silent: true, consumers: 2, prefetch: 10, median: 70 * ms, sigma: 0.5, failFirst: 0.02,
			onFail: "ack", onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("fan:b:"), server: "a",
			store:  `{name: fan-b, preset: redis-text-status, redis: {url: "REDIS"}, match: "fan:b:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: fan-b, queues: [fan-b], store: fan-b, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "slow", queues: []string{"slow"}, rate: 2, again: 0.10, againIn: between(1*sec, 15*sec), consumers: 4, prefetch: 5, workers: 5, median: 6300 * ms, sigma: 0.12, failFirst: 0.04,
			onFail: "requeue", failDelay: 500 * ms, onFlight: "requeue", flightDelay: 1 * sec,
			scheme: setNXEX(60*sec, 24*time.Hour, 0), keyOf: prefix("slow:"), server: "c",
			store:  `{name: slow, preset: redis-text-status, redis: {url: "REDIS"}, match: "slow:*", ttl: {processing: 60s}, retry: {match: "", give_up: 0}, ask: "", acks: batch, events: true}`,
			config: `{name: slow, queues: [slow], store: slow, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "auto-ack", queues: []string{"auto-ack"}, rate: 10, again: 0.05, againIn: between(1*sec, 4*sec), consumers: 1, prefetch: 0, autoAck: true, median: 20 * ms, sigma: 0.5,
			onFlight: "ack", scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("auto:"), server: "b",
			store:  `{name: auto-ack, preset: redis-text-status, redis: {url: "REDIS"}, match: "auto:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: auto-ack, queues: [auto-ack], store: auto-ack, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "purged", queues: []string{"purged"}, more: queue("purged.aside", nil), rate: 12, again: 0.04, againIn: between(1*sec, 4*sec), consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.02,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("purge:"), server: "e", drama: purgeAndMove,
			store:  `{name: purged, preset: redis-text-status, redis: {url: "REDIS"}, match: "purge:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: purged, queues: [purged], store: purged, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "renews", queues: []string{"renews"}, rate: 3, again: 0.08, againIn: between(1*sec, 12*sec), consumers: 12, prefetch: 2, median: 2 * sec, sigma: 0.6, failFirst: 0.03,
			onFail: "requeue", failDelay: 500 * ms, onFlight: "requeue", flightDelay: 500 * ms, crash: 90 * sec,
			scheme: setNXEX(6*sec, time.Hour, 1500*ms), keyOf: prefix("renew:"), server: "c",
			store:  `{name: renews, preset: redis-text-status, redis: {url: "REDIS"}, match: "renew:*", ttl: {processing: 6s, done: 1h}, retry: {match: "", give_up: 0}, ask: "", events: true}`,
			config: `{name: renews, queues: [renews], store: renews, dead_letter_queues: auto, id: {from: message_id}, max_processing: 20s}`,
		},
		{
			name: "mover", queues: []string{"mover"}, args: deadLetters("mover.dlq"), more: queue("mover.dlq", nil), dead: []string{"mover.dlq"},
			rate: 12, again: 0.03, againIn: between(1*sec, 4*sec), consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.05, poison: 0.005,
			onFail: "reject", onFlight: "requeue", flightDelay: 100 * ms, drama: moveBack,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("move:"), server: "f",
			store:  `{name: mover, preset: redis-text-status, redis: {url: "REDIS"}, match: "move:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: mover, queues: [mover], store: mover, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "republish", queues: []string{"republish"}, more: all(delay("republish.delay", "republish", 4000), queue("republish.failed", nil)), dead: []string{"republish.failed"},
			rate: 12, again: 0.03, againIn: between(1*sec, 4*sec), consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.05, poison: 0.01,
			onFail: "republish", delayQueue: "republish.delay", parking: "republish.failed", tries: 3, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("rep:"), server: "f",
			store:  `{name: republish, preset: redis-text-status, redis: {url: "REDIS"}, match: "rep:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: republish, queues: [republish], store: republish, dead_letter_queues: [republish.failed], id: {from: message_id}, max_processing: 30s}`,
		},
	}
}

// batchThree are consumers that do what no scheme says: they ignore messages, wait, give up without a trace.
func batchThree() []*pipe {
	status := func(name, key, _, more string) string {
		return `{name: ` + name + `, preset: redis-text-status, redis: {url: "REDIS"}, match: "` + key + `*", retry: {match: "", give_up: 0}, events: true` + more + `}`
	}
	line := func(name, more string) string {
		return `{name: ` + name + `, queues: [` + name + `], store: ` + name + `, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s` + more + `}`
	}
	later := between(1*sec, 4*sec)
	return []*pipe{
		{
			name: "ignores", queues: []string{"ignores"}, rate: 14, again: 0.03, againIn: later, consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.01, ignored: 0.10,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: setNXEX(300*sec, 24*time.Hour, 0), keyOf: prefix("ign:"), server: "a", store: status("ignores", "ign:", "a", `, ask: "", unasked: true`), config: line("ignores", ""),
		},
		{
			name: "ignores-shared", queues: []string{"ignores-shared"}, rate: 14, again: 0.03, againIn: later, consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.01, ignored: 0.05,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("igs:"), server: "b", store: status("ignores-shared", "igs:", "b", `, unasked: true`), config: line("ignores-shared", ""),
		},
		{
			name: "ignores-own", queues: []string{"ignores-own"}, rate: 14, again: 0.03, againIn: later, consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.01, ignored: 0.02,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("igo:"), server: "c", store: status("ignores-own", "igo:", "c", ""), config: line("ignores-own", ""),
		},
		{
			name: "flag-parks", queues: []string{"flag-parks"}, args: deadLetters("flag-parks.wait"), more: all(delay("flag-parks.wait", "flag-parks", 2000), queue("flag-parks.parking", nil)), dead: []string{"flag-parks.parking"},
			rate: 14, again: 0.03, againIn: later, consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.02, poison: 0.03, onFail: "park", tries: 2, parking: "flag-parks.parking",
			scheme: doneFlag("GET", 24*time.Hour), keyOf: prefix("fp:"), server: "n",
			store:  `{name: flag-parks, preset: redis-flag, redis: {url: "REDIS"}, match: "fp:*", ask: GET, events: true}`,
			config: `{name: flag-parks, queues: [flag-parks], store: flag-parks, dead_letter_queues: [flag-parks.parking], id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "flag-parks-m", queues: []string{"flag-parks-m"}, args: deadLetters("flag-parks-m.wait"), more: all(delay("flag-parks-m.wait", "flag-parks-m", 2000), queue("flag-parks-m.parking", nil)), dead: []string{"flag-parks-m.parking"},
			rate: 14, again: 0.03, againIn: later, consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.02, poison: 0.03, onFail: "park", tries: 2, parking: "flag-parks-m.parking",
			scheme: doneFlag("GET", 24*time.Hour), keyOf: prefix("fpm:"), server: "c",
			store:  `{name: flag-parks-m, preset: redis-flag, redis: {url: "REDIS"}, match: "fpm:*", ask: GET, events: true}`,
			config: `{name: flag-parks-m, queues: [flag-parks-m], store: flag-parks-m, dead_letter_queues: [flag-parks-m.parking], id: {from: message_id}, max_processing: 30s}`,
		},
		{
			name: "waits-polls", queues: []string{"waits-polls"}, rate: 10, again: 0.10, againIn: between(10*ms, 600*ms), consumers: 8, prefetch: 4, median: 250 * ms, sigma: 0.5, failFirst: 0.02,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue",
			scheme: waiting(300*sec, 24*time.Hour), keyOf: prefix("wp:"), server: "d", store: status("waits-polls", "wp:", "d", ", on_inflight: wait"), config: line("waits-polls", ""),
		},
		{
			name: "tx-channel", queues: []string{"tx-channel"}, rate: 12, again: 0.04, againIn: later, consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.03, tx: true,
			onFail: "requeue", onFlight: "requeue",
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("tx:"), server: "b", store: status("tx-channel", "tx:", "b", ""), config: line("tx-channel", ""),
		},
		{
			name: "in-process", queues: []string{"in-process"}, args: deadLetters("in-process.dlq"), more: queue("in-process.dlq", nil), dead: []string{"in-process.dlq"},
			rate: 12, again: 0.04, againIn: later, consumers: 3, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.06, poison: 0.02, onFail: "reject", onFlight: "requeue", flightDelay: 100 * ms,
			scheme: inProcess(textStatus(300*sec, 24*time.Hour), 3), keyOf: prefix("ip:"), server: "e", store: status("in-process", "ip:", "e", ""), config: line("in-process", ""),
		},
		{
			name: "expiring", queues: []string{"expiring"}, args: deadLetters("expiring.dlq", "x-message-ttl", int32(3000)), more: queue("expiring.dlq", nil), dead: []string{"expiring.dlq"},
			rate: 12, again: 0.06, againIn: later, consumers: 1, prefetch: 5, median: 74 * ms, sigma: 0.4, failFirst: 0.02, onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix("exp:"), server: "f", store: status("expiring", "exp:", "f", ""), config: line("expiring", ""),
		},
		{
			name: "odku", queues: []string{"odku"}, args: deadLetters("odku.dlq"), more: queue("odku.dlq", nil), dead: []string{"odku.dlq"},
			rate: 12, again: 0.05, againIn: between(20*ms, 3*sec), consumers: 3, prefetch: 10, median: 50 * ms, sigma: 0.5, failFirst: 0.02, poison: 0.003, onFail: "reject", onFlight: "ack", sql: "mysql",
			tables: []string{`CREATE TABLE inbox (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) COLLATE utf8mb4_bin NOT NULL UNIQUE, status TINYINT NOT NULL DEFAULT 0, attempts INT NOT NULL DEFAULT 1,
				created_at DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3), updated_at DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3))`},
			scheme: statusRow("INSERT INTO inbox (message_id, status) VALUES (?, 0) ON DUPLICATE KEY UPDATE attempts = attempts + 1", "SELECT status FROM inbox WHERE message_id = ?",
				"UPDATE inbox SET status = 1 WHERE message_id = ?", "DELETE FROM inbox WHERE message_id = ?", "1"), keyOf: prefix(""),
			store:  `{name: odku, preset: sql-status-code, sql: {driver: mysql, dsn: "DSN"}, table: inbox, columns: {business_key: ""}, on_fail: delete}`,
			config: line("odku", ""),
		},
		{
			name: "pg-looks", queues: []string{"pg-looks"}, args: deadLetters("pg-looks.dlq"), more: queue("pg-looks.dlq", nil), dead: []string{"pg-looks.dlq"},
			rate: 12, again: 0.05, againIn: between(20*ms, 3*sec), consumers: 3, prefetch: 10, median: 50 * ms, sigma: 0.5, failFirst: 0.02, poison: 0.003, onFail: "reject", onFlight: "ack", sql: "pgx",
			tables: []string{`CREATE TABLE events_seen (event_id VARCHAR(64) PRIMARY KEY, state VARCHAR(16) NOT NULL, created_at TIMESTAMPTZ NOT NULL DEFAULT now())`},
			scheme: lookFirst("SELECT state FROM events_seen WHERE event_id = $1", "DONE", statusRow("INSERT INTO events_seen (event_id, state) VALUES ($1, 'NEW') ON CONFLICT (event_id) DO NOTHING", "SELECT state FROM events_seen WHERE event_id = $1",
				"UPDATE events_seen SET state = 'DONE' WHERE event_id = $1", "DELETE FROM events_seen WHERE event_id = $1", "DONE")), keyOf: prefix(""),
			store: `{name: pg-looks, preset: sql-status-name, sql: {driver: postgres, dsn: "DSN"}, table: events_seen, columns: {id: event_id, business_key: "", status: state, created: created_at, auto_increment: ""},
     states: {processing: [NEW], done: [DONE], failed: []}, on_inflight: ack, on_fail: delete, insert_first: false}`,
			config: line("pg-looks", ""),
		},
		{
			name: "acks-first", queues: []string{"acks-first"}, rate: 14, again: 0.05, againIn: later, consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.02,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: ackFirst(300*sec, 24*time.Hour), keyOf: prefix("af:"), server: "d", store: status("acks-first", "af:", "d", ""), config: line("acks-first", ""),
		},
	}
}

// purgeAndMove stops the consumers twice: first what waits is purged, then some of it is moved by hand.
func purgeAndMove(ctx context.Context, p *pipe) {
	conn, err := amqp.Dial(p.url)
	if err != nil {
		p.note("drama", err)
		return
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		p.note("drama", err)
		return
	}
	if !sleep(ctx, 150*sec) {
		return
	}
	p.paused.Store(true)
	sleep(ctx, 12*sec)
	n, err := ch.QueuePurge("purged", false)
	p.note("purged", err)
	p.ledger.add(event{Kind: "purge", N: int64(n)})
	p.paused.Store(false)
	if !sleep(ctx, 70*sec) {
		return
	}
	p.paused.Store(true)
	sleep(ctx, 10*sec)
	for range 80 {
		d, ok, err := ch.Get("purged", false)
		if err != nil || !ok {
			break
		}
		if err := p.send("", "purged.aside", d.MessageId, nil); err != nil {
			p.note("move", err)
		}
		came := now()
		if d.Ack(false) == nil {
			p.ledger.ack(event{How: "moved", ID: d.MessageId, Came: came})
		}
	}
	p.paused.Store(false)
}

// moveBack publishes dead letters back each half a minute, as a shovel does.
func moveBack(ctx context.Context, p *pipe) {
	conn, err := amqp.Dial(p.url)
	if err != nil {
		p.note("drama", err)
		return
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		p.note("drama", err)
		return
	}
	for sleep(ctx, 30*sec) {
		for {
			d, ok, err := ch.Get("mover.dlq", false)
			if err != nil {
				p.note("mover", err)
				return
			}
			if !ok {
				break
			}
			if err := p.send("", "mover", d.MessageId, d.Headers); err != nil {
				p.note("mover", err)
			}
			if d.Ack(false) == nil {
				p.ledger.add(event{Kind: "take", Q: "mover.dlq", N: 1})
			}
		}
	}
}

// batchFour are reproductions of what was found, in less time.
func batchFour() []*pipe {
	var found []*pipe
	for _, p := range append(append(batchOne(), batchTwo()...), batchThree()...) {
		switch p.name {
		case "spring-waits", "renews":
			found = append(found, p)
		}
	}
	later := between(1*sec, 4*sec)
	moved := func(name, server string, keep bool) *pipe {
		return &pipe{
			name: name, queues: []string{name}, more: queue(name+".aside", nil), rate: 14, again: 0.04, againIn: later, consumers: 2, prefetch: 10, median: 40 * ms, sigma: 0.5, failFirst: 0.02,
			onFail: "requeue", failDelay: 200 * ms, onFlight: "requeue", flightDelay: 100 * ms,
			scheme: textStatus(300*sec, 24*time.Hour), keyOf: prefix(name + ":"), server: server,
			drama: func(ctx context.Context, p *pipe) {
				sleep(ctx, 90*sec)
				moveByHand(ctx, p, keep)
			},
			store:  `{name: ` + name + `, preset: redis-text-status, redis: {url: "REDIS"}, match: "` + name + `:*", retry: {match: "", give_up: 0}, events: true}`,
			config: `{name: ` + name + `, queues: [` + name + `], store: ` + name + `, dead_letter_queues: auto, id: {from: message_id}, max_processing: 30s}`,
		}
	}
	renews := &pipe{
		name: "renews-expire", queues: []string{"renews-expire"}, rate: 3, again: 0.08, againIn: between(1*sec, 12*sec), consumers: 12, prefetch: 2, median: 2 * sec, sigma: 0.6, failFirst: 0.03,
		onFail: "requeue", failDelay: 500 * ms, onFlight: "requeue", flightDelay: 500 * ms, renewExpire: true,
		scheme: setNXEX(6*sec, time.Hour, 1500*ms), keyOf: prefix("rex:"), server: "x",
		store:  `{name: renews-expire, preset: redis-text-status, redis: {url: "REDIS"}, match: "rex:*", ttl: {processing: 6s, done: 1h}, retry: {match: "", give_up: 0}, ask: "", events: true}`,
		config: `{name: renews-expire, queues: [renews-expire], store: renews-expire, dead_letter_queues: auto, id: {from: message_id}, max_processing: 20s}`,
	}
	return append(found, moved("moved-quick", "m", false), moved("moved-kept", "k", true), renews)
}

// moveByHand stops the consumers for a while and moves what waits elsewhere; keep leaves the channel open for some time after that.
func moveByHand(ctx context.Context, p *pipe, keep bool) {
	conn, err := amqp.Dial(p.url)
	if err != nil {
		p.note("move", err)
		return
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		p.note("move", err)
		return
	}
	p.paused.Store(true)
	sleep(ctx, 8*sec)
	for range 80 {
		d, ok, err := ch.Get(p.queues[0], false)
		if err != nil || !ok {
			break
		}
		if err := p.send("", p.queues[0]+".aside", d.MessageId, nil); err != nil {
			p.note("move", err)
		}
		came := now()
		if d.Ack(false) == nil {
			p.ledger.ack(event{How: "moved", ID: d.MessageId, Came: came})
		}
	}
	p.paused.Store(false)
	if keep {
		sleep(ctx, time.Hour)
	}
}

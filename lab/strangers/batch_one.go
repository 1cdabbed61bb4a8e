package main

import (
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// batchOne are common schemes, each in a broker set up in another way.
func batchOne() []spec {
	return []spec{
		{
			name: "spring-retry", topology: withParking("spring-retry", 3000).named(), traffic: traffic{rate: 14, again: 0.04},
			consumer: consumer{instances: 3, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.06, poison: 0.02},
			reaction: reaction{onFail: park, tries: 3, onFlight: requeue, flightDelay: 100 * ms},
			store:    texts("a", "spring:", ""),
		},
		springWaits(),
		{
			name: "setnx-ex", topology: withDLQ("setnx-ex", nil), traffic: traffic{rate: 15, again: 0.05, after: span{100 * ms, 3 * sec}},
			consumer: consumer{instances: 4, prefetch: 20}, job: job{median: 50 * ms, sigma: 0.8, failFirst: 0.02, poison: 0.005},
			reaction: reaction{onFail: reject, onFlight: requeue, flightDelay: 200 * ms, flightBlocks: true},
			store:    texts("c", "evt:seen:", `, ttl: {processing: 120s, done: 1h}, ask: ""`).by(setNXEX(120*sec, time.Hour)),
		},
		{
			name: "lua-claim", traffic: traffic{rate: 15, again: 0.06, after: span{20 * ms, 2 * sec}},
			consumer: consumer{instances: 3, prefetch: 10}, job: job{median: 60 * ms, sigma: 0.5, failFirst: 0.03},
			reaction: reaction{onFail: requeue, failDelay: 500 * ms, onFlight: requeue, flightDelay: 200 * ms},
			store:    texts("e", "idem:v2:", `, ttl: {processing: 60s, done: 1h}, ask: GET`).by(lua(60*sec, time.Hour)),
		},
		{
			name: "multi-exec", topology: withDLQ("multi-exec", nil), traffic: traffic{rate: 12, again: 0.08, after: span{20 * ms, 5 * sec}},
			consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.6, failFirst: 0.03, poison: 0.003},
			reaction: reaction{onFail: reject, onFlight: requeue, flightDelay: 150 * ms},
			store:    texts("a", "tx:msg:", `, ttl: {processing: 60s}`).in(1).by(multi(60*sec, day)),
		},
		{
			name: "batch-acks", traffic: traffic{rate: 20, again: 0.03, after: span{1 * sec, 5 * sec}},
			consumer: consumer{instances: 2, prefetch: 50, batch: 10, crash: 50 * sec}, job: job{median: 15 * ms, sigma: 0.4},
			store: flags("b", "handled:", "EXISTS", ", acks: batch"),
		},
		{
			name: "unlimited", traffic: traffic{rate: 12, again: 0.03, after: span{200 * ms, 3 * sec}},
			consumer: consumer{instances: 2}, job: job{median: 60 * ms, sigma: 0.7, failFirst: 0.02},
			reaction: reaction{onFail: requeue, failDelay: 300 * ms, onFlight: requeue, flightDelay: 100 * ms},
			store:    jsons("a"),
		},
		{
			name: "polls", topology: withDLQ("polls", nil), traffic: traffic{rate: 8, again: 0.05, after: span{500 * ms, 3 * sec}},
			consumer: consumer{instances: 2, get: true}, job: job{median: 50 * ms, sigma: 0.4, failFirst: 0.02, poison: 0.005},
			reaction: reaction{onFail: reject, onFlight: requeue, flightDelay: 100 * ms},
			store:    texts("b", "poll:", ""),
		},
		{
			name: "quorum", traffic: traffic{rate: 12, again: 0.03},
			topology: topology{
				args: deadLetters("quorum.dlq", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(3)}),
				more: queue("quorum.dlq", amqp.Table{"x-queue-type": "quorum"}), dead: []string{"quorum.dlq"},
			},
			consumer: consumer{instances: 3, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.03, poison: 0.015},
			reaction: reaction{onFail: requeue, failDelay: 200 * ms, onFlight: requeue, flightDelay: 200 * ms},
			store:    texts("d", "qq:", ""),
		},
		{
			name: "priority", topology: withDLQ("priority", amqp.Table{"x-max-priority": int32(5)}), traffic: traffic{rate: 12, again: 0.04, priority: true},
			consumer: consumer{instances: 2, prefetch: 1}, job: job{median: 110 * ms, sigma: 0.4, failFirst: 0.02, poison: 0.002},
			reaction: reaction{onFail: reject, onFlight: requeue, flightDelay: 100 * ms},
			store:    texts("b", "prio:", ""),
		},
		{
			name: "single-active", topology: topology{args: amqp.Table{"x-single-active-consumer": true}}, traffic: traffic{rate: 10, again: 0.03},
			consumer: consumer{instances: 3, prefetch: 20, failover: 60 * sec}, job: job{median: 25 * ms, sigma: 0.5, failFirst: 0.01},
			reaction: quick(), store: texts("a", "sac:", ""),
		},
		{
			name: "crashes", traffic: traffic{rate: 15, again: 0.03}, maxProcessing: "10s",
			consumer: consumer{instances: 3, prefetch: 30, crash: 20 * sec}, job: job{median: 70 * ms, sigma: 0.5, failFirst: 0.01},
			reaction: reaction{onFail: requeue, failDelay: 200 * ms, onFlight: requeue, flightDelay: 500 * ms},
			store:    texts("b", "crash:", ", ttl: {processing: 40s}").by(textStatus(40*sec, day)),
		},
		{
			name: "maria-status", topology: withDLQ("maria-status", nil), traffic: traffic{rate: 12, again: 0.05, after: span{20 * ms, 3 * sec}},
			consumer: consumer{instances: 3, prefetch: 10}, job: job{median: 50 * ms, sigma: 0.5, failFirst: 0.03, poison: 0.003},
			reaction: reaction{onFail: reject, onFlight: requeue, flightDelay: 200 * ms},
			store: rows("mysql", "sql-status-code", `table: inbox, columns: {business_key: ""}, on_inflight: nack, on_fail: delete`, inboxRow("").run,
				`CREATE TABLE inbox (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, status TINYINT NOT NULL DEFAULT 0,
				created_at DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3), updated_at DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3))`),
		},
		{
			name: "pg-conflict", topology: withDLQ("pg-conflict", nil), traffic: traffic{rate: 12, again: 0.05, after: span{20 * ms, 3 * sec}},
			consumer: consumer{instances: 3, prefetch: 10}, job: job{median: 50 * ms, sigma: 0.5, failFirst: 0.03, poison: 0.003},
			reaction: reaction{onFail: reject, onFlight: requeue, flightDelay: 200 * ms},
			store: rows("postgres", "sql-status-name", `table: processed_events, columns: {id: event_id, business_key: "", status: state, created: created_at},
     states: {processing: [NEW], done: [DONE], failed: []}, on_inflight: nack, on_fail: delete`, eventRow("processed_events").run,
				`CREATE TABLE processed_events (id BIGSERIAL PRIMARY KEY, event_id VARCHAR(64) NOT NULL UNIQUE, state VARCHAR(16) NOT NULL, created_at TIMESTAMPTZ NOT NULL DEFAULT now())`),
		},
	}
}

// springWaits rejects what is in flight into the delay queue and parks in a queue that is not listed.
func springWaits() spec {
	return spec{
		name: "spring-waits", topology: withParking("spring-waits", 2500), traffic: traffic{rate: 10, again: 0.10, after: span{50 * ms, 1500 * ms}},
		consumer: consumer{instances: 8, prefetch: 5}, job: job{median: 350 * ms, sigma: 0.5, failFirst: 0.05, poison: 0.01},
		reaction: reaction{onFail: park, tries: 3, onFlight: reject}, store: texts("a", "waits:", ""),
	}
}

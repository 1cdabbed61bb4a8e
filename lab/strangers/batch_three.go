package main

import amqp "github.com/rabbitmq/amqp091-go"

// batchThree are consumers that do what no scheme says: they ignore messages, wait, give up without a trace.
func batchThree() []spec {
	return []spec{
		ignores("ignores", 0.10, texts("a", "ign:", `, ask: "", unasked: true`).by(setNXEX(300*sec, day))),
		ignores("ignores-shared", 0.05, texts("b", "igs:", ", unasked: true")),
		ignores("ignores-own", 0.02, texts("c", "igo:", "")),
		flagParks("flag-parks", flags(quietServer, "fp:", "GET", "")),
		flagParks("flag-parks-m", flags("c", "fpm:", "GET", "")),
		{
			name: "waits-polls", traffic: traffic{rate: 10, again: 0.10, after: span{10 * ms, 600 * ms}},
			consumer: consumer{instances: 8, prefetch: 4}, job: job{median: 250 * ms, sigma: 0.5, failFirst: 0.02},
			reaction: reaction{onFail: requeue, failDelay: 200 * ms, onFlight: requeue},
			store:    texts("d", "wp:", ", on_inflight: wait").by(waiting(300*sec, day)),
		},
		{
			name: "tx-channel", traffic: traffic{rate: 12, again: 0.04},
			consumer: consumer{instances: 2, prefetch: 10, tx: true}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.03},
			store: texts("b", "tx:", ""),
		},
		{
			name: "in-process", topology: withDLQ("in-process", nil), traffic: traffic{rate: 12, again: 0.04},
			consumer: consumer{instances: 3, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.06, poison: 0.02},
			reaction: reaction{onFail: reject, onFlight: requeue, flightDelay: 100 * ms},
			store:    texts("e", "ip:", "").by(inProcess(textStatus(300*sec, day), 3)),
		},
		{
			name: "expiring", topology: withDLQ("expiring", amqp.Table{"x-message-ttl": int32(3000)}), traffic: traffic{rate: 12, again: 0.06},
			consumer: consumer{instances: 1, prefetch: 5}, job: job{median: 74 * ms, sigma: 0.4, failFirst: 0.02},
			reaction: quick(), store: texts("f", "exp:", ""),
		},
		{
			name: "odku", topology: withDLQ("odku", nil), traffic: traffic{rate: 12, again: 0.05, after: span{20 * ms, 3 * sec}},
			consumer: consumer{instances: 3, prefetch: 10}, job: job{median: 50 * ms, sigma: 0.5, failFirst: 0.02, poison: 0.003},
			reaction: reaction{onFail: reject, onFlight: ack},
			store: rows("mysql", "sql-status-code", `table: inbox, columns: {business_key: ""}, on_fail: delete`, inboxRow(" ON DUPLICATE KEY UPDATE attempts = attempts + 1").run,
				`CREATE TABLE inbox (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) COLLATE utf8mb4_bin NOT NULL UNIQUE, status TINYINT NOT NULL DEFAULT 0, attempts INT NOT NULL DEFAULT 1,
				created_at DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3), updated_at DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3))`),
		},
		{
			name: "pg-looks", topology: withDLQ("pg-looks", nil), traffic: traffic{rate: 12, again: 0.05, after: span{20 * ms, 3 * sec}},
			consumer: consumer{instances: 3, prefetch: 10}, job: job{median: 50 * ms, sigma: 0.5, failFirst: 0.02, poison: 0.003},
			reaction: reaction{onFail: reject, onFlight: ack},
			store: rows("postgres", "sql-status-name", `table: events_seen, columns: {id: event_id, business_key: "", status: state, created: created_at, auto_increment: ""},
     states: {processing: [NEW], done: [DONE], failed: []}, on_inflight: ack, on_fail: delete, insert_first: false`, eventRow("events_seen").lookFirst,
				`CREATE TABLE events_seen (event_id VARCHAR(64) PRIMARY KEY, state VARCHAR(16) NOT NULL, created_at TIMESTAMPTZ NOT NULL DEFAULT now())`),
		},
		{
			name: "acks-first", traffic: traffic{rate: 14, again: 0.05},
			consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.02},
			reaction: quick(), store: texts("d", "af:", "").by(ackFirst(300*sec, day)),
		},
	}
}

// ignores acks a share of the messages without a look at the store.
func ignores(name string, share float64, s store) spec {
	return spec{
		name: name, traffic: traffic{rate: 14, again: 0.03},
		consumer: consumer{instances: 2, prefetch: 10, ignored: share}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.01},
		reaction: quick(), store: s,
	}
}

// flagParks parks what failed twice, which leaves no trace in the store.
func flagParks(name string, s store) spec {
	return spec{
		name: name, topology: withParking(name, 2000).named(), traffic: traffic{rate: 14, again: 0.03},
		consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.02, poison: 0.03},
		reaction: reaction{onFail: park, tries: 2}, store: s,
	}
}

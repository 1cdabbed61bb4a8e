package main

import "time"

// batchTwo are further ways to send and to consume.
func batchTwo() []spec {
	return append(tableSpecs(), append(trafficSpecs(), consumerSpecs()...)...)
}

// tableSpecs work in one transaction with the marker.
func tableSpecs() []spec {
	return []spec{
		{
			name: "pg-tx", topology: withDLQ("pg-tx", nil), traffic: traffic{rate: 10, again: 0.05, after: span{20 * ms, 3 * sec}},
			consumer: consumer{instances: 3, prefetch: 10, crash: 60 * sec}, job: job{median: 50 * ms, sigma: 0.5, failFirst: 0.03, poison: 0.003},
			reaction: reaction{onFail: reject},
			store: rows("postgres", "sql-unique-row", `table: handled, columns: {id: message_id, created: handled_at}, insert_first: true, transactional: true`,
				oneTransaction("INSERT INTO handled (message_id) VALUES ($1) ON CONFLICT DO NOTHING", "INSERT INTO work (ref) VALUES ($1)"),
				`CREATE TABLE handled (message_id VARCHAR(64) PRIMARY KEY, handled_at TIMESTAMPTZ NOT NULL DEFAULT now())`,
				`CREATE TABLE work (id BIGSERIAL PRIMARY KEY, ref TEXT)`),
		},
		{
			name: "maria-ignore", topology: withDLQ("maria-ignore", nil), traffic: traffic{rate: 10, again: 0.06, after: span{20 * ms, 3 * sec}},
			consumer: consumer{instances: 3, prefetch: 10}, job: job{median: 50 * ms, sigma: 0.5, failFirst: 0.04},
			reaction: reaction{onFail: requeue, failDelay: 300 * ms},
			store: rows("mysql", "sql-unique-row", `table: processed_messages, columns: {id: message_id}, insert_first: true, transactional: true`,
				oneTransaction("INSERT IGNORE INTO processed_messages (message_id) VALUES (?)", "INSERT INTO work (ref) VALUES (?)"),
				`CREATE TABLE processed_messages (message_id VARCHAR(64) PRIMARY KEY, create_time DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3))`,
				`CREATE TABLE work (id BIGINT AUTO_INCREMENT PRIMARY KEY, ref VARCHAR(64))`),
		},
	}
}

// trafficSpecs differ in what is sent, and by what keys.
func trafficSpecs() []spec {
	odd := keys("a", "Shop[EU]*:DEDUP:", "redis-timestamp", `match: 'Shop\[EU\]\*:DEDUP:*', id: '^Shop\[EU\]\*:DEDUP:(.+)$', events: true`, timestamp(day)).in(2)
	odd.upper = true
	return []spec{
		{
			name: "json-ids", traffic: traffic{rate: 12, again: 0.06, after: span{10 * ms, 3 * sec}, jsonID: true},
			consumer: consumer{instances: 3, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.6, failFirst: 0.02},
			reaction: reaction{onFail: requeue, failDelay: 200 * ms}, store: odd,
		},
		{
			name: "thin", traffic: traffic{rate: 0.125, again: 0.25},
			consumer: consumer{instances: 1, prefetch: 5}, job: job{median: 200 * ms, sigma: 0.4, failFirst: 0.05},
			reaction: reaction{onFail: requeue, failDelay: 500 * ms, onFlight: requeue, flightDelay: 100 * ms}, store: texts("b", "thin:", ""),
		},
		{
			name: "bursts", traffic: traffic{burst: 300, burstEach: 45 * sec, again: 0.05, after: span{500 * ms, 8 * sec}},
			consumer: consumer{instances: 4, prefetch: 20}, job: job{median: 60 * ms, sigma: 0.5, failFirst: 0.03},
			reaction: reaction{onFail: requeue, failDelay: 300 * ms, onFlight: requeue, flightDelay: 100 * ms}, store: jsons("a"),
		},
		{
			name: "twins", traffic: traffic{rate: 9, again: 0.4, twins: true},
			consumer: consumer{instances: 6, prefetch: 10}, job: job{median: 60 * ms, sigma: 0.6, failFirst: 0.02},
			reaction: quick(), store: texts("c", "twin:", ""),
		},
		{
			name: "two-queues", topology: topology{queues: []string{"two-a", "two-b"}}, traffic: traffic{rate: 14, again: 0.05},
			consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 50 * ms, sigma: 0.6, failFirst: 0.02},
			reaction: reaction{onFail: requeue, failDelay: 200 * ms}, store: flags("b", "two:done:", "GET", ""),
		},
		{
			name: "prefix-a", traffic: traffic{rate: 10, again: 0.02},
			consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.01},
			reaction: quick(), store: texts("d", "app:a:", ""),
		},
		{
			name: "prefix-b", traffic: traffic{rate: 10, again: 0.12},
			consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.01},
			reaction: quick(), store: texts("d", "app:b:", ""),
		},
		{
			name: "short-lives", traffic: traffic{rate: 10, again: 0.10, after: span{5 * sec, 40 * sec}}, maxProcessing: "5s",
			consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.02},
			reaction: quick(), store: texts("b", "short:", ", ttl: {processing: 10s, done: 20s}").by(textStatus(10*sec, 20*sec)),
		},
		{
			name: "fan-a", topology: topology{more: fanOut("fan", "fan-a", "fan-b"), exchange: "fan"}, traffic: traffic{rate: 9, again: 0.04},
			consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.02},
			reaction: quick(), store: texts("a", "fan:a:", ""),
		},
		{
			name: "fan-b", traffic: traffic{silent: true},
			consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 70 * ms, sigma: 0.5, failFirst: 0.02},
			reaction: reaction{onFail: ack, onFlight: requeue, flightDelay: 100 * ms}, store: texts("a", "fan:b:", ""),
		},
	}
}

// consumerSpecs differ in how deliveries are taken and settled, and in what is done by hand.
func consumerSpecs() []spec {
	return []spec{
		{
			name: "slow", traffic: traffic{rate: 2, again: 0.10, after: span{1 * sec, 15 * sec}},
			consumer: consumer{instances: 4, prefetch: 5, workers: 5}, job: job{median: 6300 * ms, sigma: 0.12, failFirst: 0.04},
			reaction: reaction{onFail: requeue, failDelay: 500 * ms, onFlight: requeue, flightDelay: 1 * sec},
			store:    texts("c", "slow:", `, ttl: {processing: 60s}, ask: "", acks: batch`).by(setNXEX(60*sec, day)),
		},
		{
			name: "auto-ack", traffic: traffic{rate: 10, again: 0.05},
			consumer: consumer{instances: 1, autoAck: true}, job: job{median: 20 * ms, sigma: 0.5},
			reaction: reaction{onFlight: ack}, store: texts("b", "auto:", ""),
		},
		{
			name: "purged", topology: topology{more: queue("purged.aside", nil)}, traffic: traffic{rate: 12, again: 0.04}, meanwhile: byHand(purgeAndMove),
			consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.02},
			reaction: quick(), store: texts("e", "purge:", ""),
		},
		renews("renews", "c", "renew:", false, 90*sec),
		{
			name: "mover", topology: withDLQ("mover", nil), traffic: traffic{rate: 12, again: 0.03}, meanwhile: byHand(moveBack),
			consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.05, poison: 0.005},
			reaction: reaction{onFail: reject, onFlight: requeue, flightDelay: 100 * ms}, store: texts("f", "move:", ""),
		},
		{
			name: "republish", traffic: traffic{rate: 12, again: 0.03},
			topology: topology{
				more: inOrder(delay("republish.delay", "republish", 4000), queue("republish.failed", nil)), delay: "republish.delay",
				dead: []string{"republish.failed"}, deadNamed: true,
			},
			consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.05, poison: 0.01},
			reaction: reaction{onFail: republish, tries: 3, onFlight: requeue, flightDelay: 100 * ms}, store: texts("f", "rep:", ""),
		},
	}
}

// renews has claims that end soon and are renewed while the work goes on.
func renews(name, server, prefix string, byExpire bool, crash time.Duration) spec {
	return spec{
		name: name, traffic: traffic{rate: 3, again: 0.08, after: span{1 * sec, 12 * sec}}, maxProcessing: "20s",
		consumer: consumer{instances: 12, prefetch: 2, crash: crash}, job: job{median: 2 * sec, sigma: 0.6, failFirst: 0.03},
		reaction: reaction{onFail: requeue, failDelay: 500 * ms, onFlight: requeue, flightDelay: 500 * ms},
		store:    texts(server, prefix, `, ttl: {processing: 6s, done: 1h}, ask: ""`).by(renewed(6*sec, time.Hour, 1500*ms, byExpire)),
	}
}

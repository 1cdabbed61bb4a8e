package main

import amqp "github.com/rabbitmq/amqp091-go"

// batchFour are reproductions of what was found, in less time.
func batchFour() []spec {
	return []spec{
		springWaits(),
		renews("renews", "c", "renew:", false, 90*sec),
		moved("moved-quick", "m", false),
		moved("moved-kept", "k", true),
		renews("renews-expire", "x", "rex:", true, 0),
		{
			name: "unfinished", traffic: traffic{rate: 14, again: 0.04},
			consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.02},
			reaction: quick(), store: texts("u", "un:", "").by(unfinished(textStatus(300*sec, day), 2*sec, 0.04)),
		},
		{
			name: "exists-first", traffic: traffic{rate: 14, again: 0.05},
			consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5},
			reaction: reaction{onFail: requeue, onFlight: ack},
			store: rows("mysql", "sql-unique-row", `table: seen_first, columns: {id: message_id, created: created_at}, insert_first: false`, existsFirst("seen_first"),
				`CREATE TABLE seen_first (message_id VARCHAR(64) PRIMARY KEY, created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6))`),
		},
		{
			name: "quorum-bursts", topology: topology{args: amqp.Table{"x-queue-type": "quorum"}}, traffic: traffic{rate: 2, again: 0.04, burst: 20, burstEach: 10 * sec},
			consumer: consumer{instances: 1, prefetch: 20}, job: job{median: 50 * ms, sigma: 0.2},
			reaction: quick(), store: texts("q", "qb:", ""),
		},
	}
}

// moved has messages that are moved by hand.
func moved(name, server string, keep bool) spec {
	return spec{
		name: name, topology: topology{more: queue(name+".aside", nil)}, traffic: traffic{rate: 14, again: 0.04}, meanwhile: move(keep),
		consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.02},
		reaction: quick(), store: texts(server, name+":", ""),
	}
}

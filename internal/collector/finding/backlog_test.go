package finding

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// backlogCases are the findings about queues that nobody works off, or not fast enough.
func backlogCases() []findingCase {
	// read are readings of a queue, 15 s apart.
	read := func(n int, change func(i int, q *dedup.Queue)) []dedup.Finding {
		var d Desertion
		for i := range n {
			q := queue("orders", func(q *dedup.Queue) {
				q.Consumers, q.Ready, q.Messages = ptr(0), ptr(5), ptr(5)
				q.Counters = dedup.QueueCounters{Deliver: ptr(100)}
				change(i, q)
			})
			d.Observe(&q, findingNow.Add(time.Duration(i)*15*time.Second))
		}
		return NoConsumers("orders"+hostile, d)
	}
	waits := func(int, *dedup.Queue) {}
	empty := func(_ int, q *dedup.Queue) { q.Ready, q.Messages = ptr(0), ptr(0) }
	grows := func(acks float64, lowest ...float64) []dedup.Finding {
		return BacklogGrowing(Backlog{Lowest: lowest, Ready: 1200, Acks: acks, Queues: []dedup.QueueRef{ref("orders" + hostile)}})
	}
	return []findingCase{
		{"no_consumers", "fires for messages that wait for half a minute", read(3, waits), dedup.Severe, []string{"Nobody consumes queue orders", "5 waiting", "for 30 s"}},
		{"no_consumers", "fires for a queue from which a human once got a message", read(4, func(_ int, q *dedup.Queue) { q.Counters.Get = ptr(3) }), dedup.Severe, nil},
		{"no_consumers", "fires again ten minutes after the last get", read(60, func(i int, q *dedup.Queue) { q.Counters.Get = ptr(min(int64(i), 3)) }), dedup.Severe, nil},
		{"no_consumers", "is a hint while nothing waits", read(3, empty), dedup.Normal, []string{"nothing waits in it"}},
		{"no_consumers", "is silent about the seconds of a deployment", read(2, waits), silent, nil},
		{"no_consumers", "is silent when a consumer comes back in between", read(3, func(i int, q *dedup.Queue) { q.Consumers = ptr(int64(i % 2)) }), silent, nil},
		{"no_consumers", "is silent about a queue that is only ever read by basic.get", read(60, func(_ int, q *dedup.Queue) { q.Counters = dedup.QueueCounters{Get: ptr(7)} }), silent, nil},
		{"no_consumers", "is silent while somebody gets messages", read(60, func(i int, q *dedup.Queue) { q.Counters.GetNoAck = ptr(int64(i)) }), silent, nil},
		{"no_consumers", "is silent when the broker does not say", read(3, func(_ int, q *dedup.Queue) { q.Consumers = nil }), silent, nil},
		{"no_consumers", "is silent about a stream, which keeps what was read", read(3, func(_ int, q *dedup.Queue) { q.Type = "stream" }), silent, nil},
		{"no_consumers", "is silent while somebody holds the last message", read(3, func(i int, q *dedup.Queue) { empty(i, q); q.Unacked = ptr(1) }), silent, nil},

		{"backlog_growing", "is a warning when it takes half an hour", grows(400, 400, 500, 600, 700, 800), dedup.Warning, []string{"1,200 messages waiting, which is 30 m of work", "rose from 400 to 800; 400 acks"}},
		{"backlog_growing", "is a warning when nothing is acked", grows(0, 400, 500, 600, 700, 800), dedup.Warning, []string{"and nothing is acked"}},
		{"backlog_growing", "is a hint when it takes ten minutes", grows(1200, 400, 500, 600, 700, 800), dedup.Normal, []string{"which is 10 m of work"}},
		{"backlog_growing", "is silent about what is soon worked off", grows(1201, 400, 500, 600, 700, 800), silent, nil},
		{"backlog_growing", "is silent when it once did not grow", grows(1, 400, 500, 500, 700, 800), silent, nil},
		{"backlog_growing", "is silent about bursts that drain", grows(1, 0, 0, 0, 0, 0), silent, nil},
		{"backlog_growing", "is silent before ten minutes are known", grows(1), silent, nil},
	}
}

package log

import (
	"encoding/json"
	"regexp"
	"strings"

	"dedup-dashboard/internal/dedup"
)

// maxLogLine bounds a line of the log that is looked at.
const maxLogLine = 16 << 10

// timeoutLine matches what RabbitMQ writes when a consumer held a delivery for longer than consumer_timeout. Up to 3.12 it
// prints the delivery tag, and no queue; from 3.13 on the consumer's tag, the channel, and the queue
// (core/rabbit_channel.erl, evaluate_consumer_timeout1). What comes before is the formatter's, and holds no quotes: names
// that clients chose stand in quotes, so that none of them can pass for a line of its own.
var timeoutLine = regexp.MustCompile(`(?s)^[^'"]{0,200}?\bConsumer (?:[0-9]+ on channel [0-9]+ has timed out waiting for delivery acknowledgement\b|` +
	`'(.*)' on channel [0-9]+ and queue '(.*)' in vhost '(.*)' has timed out waiting for a consumer acknowledgement\b)`)

// ackTimeout reads a line of the broker's log. It is not ok where the line tells of something else. A queue that is not named,
// or whose name cannot be told for sure, is the zero ref: tags and names may hold what stands between them.
func ackTimeout(body []byte) (queue dedup.QueueRef, ok bool) {
	if len(body) > maxLogLine {
		return dedup.QueueRef{}, false
	}
	line := strings.TrimLeft(string(body), " \t\r\n")
	if strings.HasPrefix(line, "{") { // log.exchange.formatter = json
		var entry struct {
			Text string `json:"msg"`
		}
		if json.Unmarshal(body, &entry) == nil {
			line = entry.Text
		}
	}
	parts := timeoutLine.FindStringSubmatch(line)
	if parts == nil {
		return dedup.QueueRef{}, false
	}
	tag, name, vhost := parts[1], parts[2], parts[3]
	for _, part := range []string{tag, name, vhost} {
		if strings.Contains(part, "' on channel ") || strings.Contains(part, " and queue '") || strings.Contains(part, "' in vhost '") || strings.Contains(part, "' has timed out ") {
			return dedup.QueueRef{}, true
		}
	}
	return dedup.QueueRef{Vhost: vhost, Name: name}, true
}

package message

import "strings"

// The headers that this dashboard writes into what it requeues. None begins with x-, which is the broker's.
const (
	// HeaderRequeueID is the Ref of the dead letter when it was first requeued. It stays with the message: copies of one message, as a
	// crash in mid-requeue makes them, have it in common. HeaderOriginalQueue is the queue that held it then.
	HeaderRequeueID     = "dedup-requeue-id"
	HeaderOriginalQueue = "dedup-original-queue"
	// HeaderRequeueRun is the run that sent it last, HeaderRequeuedAt when, HeaderRequeueCount how often it was sent.
	HeaderRequeueRun   = "dedup-requeue-run"
	HeaderRequeuedAt   = "dedup-requeued-at"
	HeaderRequeueCount = "dedup-requeue-count"
	// HeaderOriginalUserID is the property user_id of its publisher, which the broker would not accept from us.
	HeaderOriginalUserID = "dedup-original-user-id"
	// HeaderOriginalDeath is the death history before it was requeued; see EncodeDeaths.
	HeaderOriginalDeath = "dedup-original-death"
)

// Requeues returns how often a message was requeued, by its headers; 0 when they do not say so in a whole number above 0.
func Requeues(headers map[string]any) int64 {
	n, ok := wholeOf(headers[HeaderRequeueCount])
	if !ok || n < 0 {
		return 0
	}
	return n
}

// RequeueRun returns the run that sent a message last; empty when none did.
func RequeueRun(headers map[string]any) string {
	run, _ := fieldText(headers[HeaderRequeueRun])
	return run
}

// RequeueID returns the reference that a message got when it was first requeued; empty when it has none of that form.
func RequeueID(headers map[string]any) string {
	id, _ := fieldText(headers[HeaderRequeueID])
	if len(id) != 64 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}

// Returns returns how often a quorum queue has had a message back, by the count that it compares with its delivery limit; 0 when
// the headers do not say it (https://www.rabbitmq.com/docs/quorum-queues#poison-message-handling).
func Returns(headers map[string]any) int64 {
	var most int64
	for _, name := range []string{"x-delivery-count", "x-acquired-count"} {
		if n, ok := wholeOf(headers[name]); ok {
			most = max(most, n)
		}
	}
	return most
}

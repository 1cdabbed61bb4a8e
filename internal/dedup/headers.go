package dedup

import "strings"

// OwnHeader reports whether a header is one that this dashboard writes: it is written anew with every requeue.
func OwnHeader(name string) bool { return strings.HasPrefix(name, "dedup-") }

// DeathHeader reports whether a header is part of the history that the broker writes into dead letters
// (https://www.rabbitmq.com/docs/dlx#effects).
func DeathHeader(name string) bool {
	return name == HeaderDeaths || strings.HasPrefix(name, "x-first-death-") || strings.HasPrefix(name, "x-last-death-")
}

// BrokerHeader reports whether a header is left behind by a requeue. CC and BCC would add copies in other queues
// (https://www.rabbitmq.com/docs/sender-selected); the others are the broker's own notes, which it would continue, misread or choke on
// when a client sends them. The broker tells capitals from small letters: a header cc is like any other.
func BrokerHeader(name string) bool {
	switch name {
	case "CC", "BCC", "x-delivery-count", "x-acquired-count":
		return true
	}
	return DeathHeader(name) || strings.HasPrefix(name, "x-opt-")
}

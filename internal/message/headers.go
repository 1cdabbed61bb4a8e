package message

import "strings"

// IsOwnHeader reports whether a header is one that this dashboard writes: it is written anew with every requeue.
func IsOwnHeader(name string) bool { return strings.HasPrefix(name, "dedup-") }

// IsDeathHeader reports whether a header is part of the history that the broker writes into dead letters
// (https://www.rabbitmq.com/docs/dlx#effects).
func IsDeathHeader(name string) bool {
	return name == HeaderDeaths || strings.HasPrefix(name, "x-first-death-") || strings.HasPrefix(name, "x-last-death-")
}

// IsBrokerHeader reports whether a header is left behind by a requeue. CC and BCC would add copies in other queues
// (https://www.rabbitmq.com/docs/sender-selected); the others are the broker's own notes, which it would continue, misread or choke on
// when a client sends them. The broker tells capitals from small letters: a header cc is like any other.
func IsBrokerHeader(name string) bool {
	switch name {
	case "CC", "BCC", "x-delivery-count", "x-acquired-count":
		return true
	}
	return IsDeathHeader(name) || strings.HasPrefix(name, "x-opt-")
}

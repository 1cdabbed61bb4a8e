package dedup

import (
	"fmt"
	"strings"
)

// parkingPrefix begins the name of every parking queue; it is what the acting account must be allowed to configure.
const parkingPrefix = "dedup.parking."

// maxQueueName is how many bytes AMQP 0-9-1 has for the name of a queue.
const maxQueueName = 255

// ParkingQueue returns the queue that keeps what is discarded from a dead-letter queue, in the same vhost. A name that would not fit
// in AMQP's 255 bytes is an Error of kind Invalid.
func ParkingQueue(deadLetters QueueRef) (QueueRef, error) {
	name := parkingPrefix + deadLetters.Name
	if len(name) > maxQueueName {
		return QueueRef{}, &Error{Kind: Invalid, Public: fmt.Sprintf(
			"The name of this queue has %d bytes; to discard from it, its parking queue %q and the name together may have %d",
			len(deadLetters.Name), parkingPrefix+"...", maxQueueName)}
	}
	return QueueRef{Vhost: deadLetters.Vhost, Name: name}, nil
}

// ParkedFrom returns the dead-letter queue whose parking queue this is; false when it is none.
func ParkedFrom(parking QueueRef) (QueueRef, bool) {
	name, ok := strings.CutPrefix(parking.Name, parkingPrefix)
	return QueueRef{Vhost: parking.Vhost, Name: name}, ok && name != ""
}

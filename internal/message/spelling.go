package message

import "regexp"

// uuidURN is what RabbitMQ makes of a UUID as message id of AMQP 1.0 for those that speak AMQP 0-9-1, and reads as that UUID from them.
var uuidURN = regexp.MustCompile(`^urn:uuid:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$`)

// BareID returns the UUID of an id that is written as urn:uuid:UUID, and every other id as it is: consumers of AMQP 1.0 see the UUID
// alone, and keep their markers under it.
func BareID(id string) string {
	if m := uuidURN.FindStringSubmatch(id); m != nil {
		return m[1]
	}
	return id
}

// Spellings returns the ids under which consumers of either protocol can keep the marker of a message: its id, and what BareID makes of
// it where that is another.
func Spellings(id string) []string {
	if bare := BareID(id); bare != id {
		return []string{id, bare}
	}
	return []string{id}
}

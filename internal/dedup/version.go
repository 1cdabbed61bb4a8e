package dedup

import (
	"strconv"
	"strings"
)

// release returns major and minor of a broker's version; false when it cannot be read.
func (i BrokerInfo) release() (major, minor int, ok bool) {
	first, rest, found := strings.Cut(i.Version, ".")
	if !found {
		return 0, 0, false
	}
	second, _, _ := strings.Cut(rest, ".")
	major, errMajor := strconv.Atoi(first)
	minor, errMinor := strconv.Atoi(second)
	return major, minor, errMajor == nil && errMinor == nil && major >= 0 && minor >= 0
}

// Since reports whether the broker is of a version or of a later one; false when its version cannot be read.
func (i BrokerInfo) Since(major, minor int) bool {
	a, b, ok := i.release()
	return ok && (a > major || a == major && b >= minor)
}

// ReturnsUncounted reports whether only rejects and closed channels count against the delivery limit of a quorum queue, and nothing that a
// consumer returns: 4.3 and later (rabbitmq-server issue 13885).
func (i BrokerInfo) ReturnsUncounted() bool { return i.Since(4, 3) }

// bringsCount reports whether a dead letter keeps the count of the quorum queue where it died, and can be beyond the limit of its dead-letter
// queue before it was ever taken: seen on 4.3.6, and not on 3.10.8 and 4.0.5. Versions between were not tried.
func (i BrokerInfo) bringsCount() bool { return i.Since(4, 1) }

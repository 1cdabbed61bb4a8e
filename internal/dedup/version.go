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

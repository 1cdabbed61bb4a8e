package redis

import (
	"dedup-dashboard/internal/dedup"

	"dedup-dashboard/internal/markers"
)

// Mapped returns what Check says of markers with these values, whose life tells a state or nothing.
func Mapped(c markers.Config, lives dedup.State, values ...string) ([]markers.Unmapped, []string) {
	var seen []seenValue
	for _, v := range values {
		seen = append(seen, seenValue{text: v, lives: lives})
	}
	return mappingOf(c, seen)
}

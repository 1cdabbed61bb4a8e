package rate

import (
	"slices"
	"strings"

	"dedup-dashboard/internal/dedup"
)

// What was held against a truth that the consumers themselves counted; `make truth` proves it again. With other schemes and
// servers the same arithmetic is derived, however narrow its interval is.

// MeasuredWidest is the width up to which an interval of a proven source counts as measured: 0.2 points.
const MeasuredWidest = 0.002

// ProvenEvents reports whether the estimate from store events was proved for a scheme. A preset with other rules is another
// scheme.
func ProvenEvents(s dedup.Scheme) bool {
	asProved := s.Mark == "before" && s.OnInFlight == "nack" && s.OnFail == "delete"
	return asProved && slices.Contains([]string{"redis-json-status", "redis-text-status"}, s.Preset)
}

// provenInserts reports whether the id gap was proved for a scheme on a server, named by its version as in "MariaDB 10.11.19".
func provenInserts(s dedup.Scheme, server string) bool {
	name, _, _ := strings.Cut(server, " ")
	return slices.Contains([]string{"MariaDB", "PostgreSQL"}, name) && slices.Contains([]string{"sql-status-code", "sql-status-name"}, s.Preset)
}

// ProvenHits reports whether the estimate from store hits was proved for a scheme on a server, named by its version as in "MariaDB 10.11.19".
func ProvenHits(s dedup.Scheme, server string) bool {
	name, _, _ := strings.Cut(server, " ")
	return slices.Contains([]string{"MariaDB", "PostgreSQL"}, name) && (s.Transactional || s.Preset == "sql-unique-row")
}

// EventQuality is that of what the events of a scheme count.
func EventQuality(s dedup.Scheme) dedup.Quality {
	if ProvenEvents(s) {
		return dedup.Measured
	}
	return dedup.Derived
}

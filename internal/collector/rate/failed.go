package rate

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/text"
)

// failedBetween are the acks of work that failed between two times, at most; 0 where nothing proves that there are any.
func failedBetween(known func(from, to time.Time) float64, from, to time.Time) float64 {
	if known == nil {
		return 0
	}
	return known(from, to)
}

// FailedWords says that other acks look like those of duplicates; empty where none are known.
func FailedWords(n float64) string {
	switch {
	case n == 0:
		return ""
	case math.IsInf(n, 1):
		return "consumers ack messages that are no duplicates, as of work that failed, and nothing tells how much of the acks that is"
	}
	return fmt.Sprintf("up to %s of the duplicates may be acks of work that failed, or of messages for which no store was asked", text.Grouped(text.Whole(n)))
}

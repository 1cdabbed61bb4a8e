package dedup

import "time"

// An Age is how long a marker has been in its state as of a moment. The zero value is an age that is not known.
type Age struct {
	Span time.Duration
	// Known is false when nothing tells of the marker's beginning.
	Known bool
	// AtLeast is true when Span is only a lower bound: the beginning is not known, but since when the marker has been seen.
	AtLeast bool
}

// AgeOf returns the age of a marker as of a moment by our clock; offset is the store's clock minus ours. It is exact
// where the beginning is known, at least the time since a pass first saw the marker where only that is known, and never
// below 0. A key that is too long is not known again from one pass to the next, so that its first sight says nothing. Every page, figure and finding takes the age from here, so that one marker has one age at one moment.
func AgeOf(m Marker, at time.Time, offset time.Duration) Age {
	switch {
	case !m.Since.IsZero():
		return Age{Span: max(0, at.Sub(m.Since.Add(-offset))), Known: true}
	case !m.FirstSeen.IsZero() && m.TooLong == "":
		return Age{Span: max(0, at.Sub(m.FirstSeen)), Known: true, AtLeast: true}
	}
	return Age{}
}

// OldestAge returns the age of the oldest of several markers: the largest of the exact ages and lower bounds. It is at
// least that long when one of them is only a lower bound or not known at all, because that one may be older still.
func OldestAge(markers []Marker, at time.Time, offset time.Duration) Age {
	var oldest Age
	for _, m := range markers {
		age := AgeOf(m, at, offset)
		oldest.AtLeast = oldest.AtLeast || age.AtLeast || !age.Known
		oldest.Known = oldest.Known || age.Known
		oldest.Span = max(oldest.Span, age.Span)
	}
	if !oldest.Known {
		return Age{}
	}
	return oldest
}

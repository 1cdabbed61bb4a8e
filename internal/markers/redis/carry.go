package redis

import (
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
)

// carry takes over from the pass before when a marker was first seen as it still is. Of a lock it is enough that the
// same owner holds it: one whose lease was moved meanwhile is kept alive by its holder (Redisson's watchdog), and how
// long it has been held is known from our own looking alone.
func carry(last, pass *dedup.Pass, locks bool) {
	if last == nil {
		return
	}
	known := map[string]*dedup.Marker{}
	for _, list := range lists(last) {
		for i := range list {
			known[list[i].Key] = &list[i]
		}
	}
	for _, list := range lists(pass) {
		for i := range list {
			m := &list[i]
			before := known[m.Key]
			if before == nil || m.Key == "" || before.State != m.State || before.Owner != m.Owner {
				continue
			}
			switch {
			case !m.ExpirySet.IsZero(): // since when it is there was noted when it got its expiry
			case before.Expires.Equal(m.Expires):
				m.FirstSeen = before.FirstSeen
				if locks && before.Detail != "" {
					m.Since, m.Detail = before.Since, before.Detail
				}
			case locks && m.Expires.After(before.Expires):
				renewed(m, before, pass.ClockOffset)
			}
		}
	}
	if locks {
		pace.ByAge(pass.OldestProcessing)
	}
}

// renewed words a lock that its holder keeps alive. Its expiry does not tell when it was taken.
func renewed(m, before *dedup.Marker, offset time.Duration) {
	m.FirstSeen = before.FirstSeen
	m.Since = before.FirstSeen.Add(offset)
	m.Detail = "renewed by its holder, which is alive; held at least since then"
}

func lists(p *dedup.Pass) [][]dedup.Marker {
	return [][]dedup.Marker{p.OldestProcessing, p.FailedMarkers, p.Permanent, p.GaveUpMarkers}
}

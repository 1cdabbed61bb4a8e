package events

import (
	"maps"
	"slices"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/pace"
)

// WithBorn returns a pass in which the claims are listed, too, that the store's notifications showed to be born without an
// expiry: a pass may take minutes to find them. The pass itself is not changed. Of one that the pass has found it is known
// since when it is there.
func WithBorn(pass *dedup.Pass, born []dedup.Marker) *dedup.Pass {
	if pass == nil || len(born) == 0 {
		return pass
	}
	p := *pass
	p.OldestProcessing, p.Permanent = slices.Clone(p.OldestProcessing), slices.Clone(p.Permanent)
	p.States, p.NoExpiry = maps.Clone(p.States), maps.Clone(p.NoExpiry)
	// A full list need not hold all that the pass counted.
	full := len(p.OldestProcessing) >= dedup.MaxListed || len(p.Permanent) >= dedup.MaxListed
	processing, permanent := byKey(p.OldestProcessing), byKey(p.Permanent)
	for _, m := range born {
		if m.Key == "" {
			continue
		}
		i, listed := permanent[m.Key]
		if listed {
			m.Attempts = p.Permanent[i].Attempts
			p.Permanent[i].FirstSeen = m.FirstSeen
		} else {
			p.Permanent = append(p.Permanent, m)
		}
		j, held := processing[m.Key]
		switch {
		case held && p.OldestProcessing[j].Expires.IsZero():
			p.OldestProcessing[j].FirstSeen = m.FirstSeen
		case held:
			// The pass saw an earlier claim of the same message.
			p.OldestProcessing[j] = m
			p.NoExpiry[m.State]++
		case m.State == dedup.Processing:
			p.OldestProcessing = append(p.OldestProcessing, m)
		}
		if !listed && !held && !full {
			p.Matched++
			p.States[m.State]++
			p.NoExpiry[m.State]++
		}
	}
	pace.ByAge(p.OldestProcessing)
	pace.ByAge(p.Permanent)
	p.OldestProcessing = p.OldestProcessing[:min(len(p.OldestProcessing), dedup.MaxListed)]
	p.Permanent = p.Permanent[:min(len(p.Permanent), dedup.MaxListed)]
	return &p
}

func byKey(list []dedup.Marker) map[string]int {
	at := make(map[string]int, len(list))
	for i := range list {
		if list[i].Key != "" {
			at[list[i].Key] = i
		}
	}
	return at
}

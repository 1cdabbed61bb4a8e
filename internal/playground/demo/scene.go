// Package demo makes snapshots and a history out of nothing but the time, so that pages can be looked at and tested
// without a broker or a store. The same time gives the same pages.
package demo

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

// Scenes names every scene: what a page can be confronted with.
func Scenes() []string {
	return []string{"mixed", "shop", "healthy", "stale", "starting", "empty", "hostile", "many"}
}

// Scene returns the snapshot of a scene as it would be at the time; an unknown name gives the mixed one.
func Scene(name string, now time.Time) *dedup.Snapshot {
	switch name {
	case "shop":
		s := mixed(now)
		s.Brokers, s.Stores = s.Brokers[:1], append(s.Stores[:1:1], s.Stores[2])
		return s
	case "healthy":
		return healthy(now)
	case "stale":
		return mixed(now.Add(-2 * time.Minute))
	case "starting":
		return &dedup.Snapshot{Interval: interval, Brokers: untriedBrokers(), Stores: untriedStores()}
	case "empty":
		s := base(now)
		s.Brokers = brokers(now)[:1]
		return s
	case "hostile":
		return hostile(now)
	case "many":
		return many(now)
	default:
		return mixed(now)
	}
}

const interval = 15 * time.Second

func base(now time.Time) *dedup.Snapshot {
	return &dedup.Snapshot{Round: 1234, At: now.Add(-4 * time.Second), Interval: interval, Sources: sources(now)}
}

func mixed(now time.Time) *dedup.Snapshot {
	s := base(now)
	s.Brokers, s.Stores = brokers(now), stores(now)
	for _, sp := range mixedSpecs() {
		s.Pipelines = append(s.Pipelines, sp.status(now))
	}
	return s
}

func healthy(now time.Time) *dedup.Snapshot {
	s := base(now)
	s.Brokers, s.Stores = brokers(now)[:1], stores(now)[:1]
	for _, sp := range mixedSpecs() {
		if sp.name == "points" || sp.name == "search-index" {
			s.Pipelines = append(s.Pipelines, sp.status(now))
		}
	}
	return s
}

func many(now time.Time) *dedup.Snapshot {
	s := base(now)
	s.Brokers, s.Stores = brokers(now), stores(now)
	specs := mixedSpecs()
	for i := range 200 {
		sp := specs[i%len(specs)]
		sp.name += "-" + string(rune('a'+i/26%26)) + string(rune('a'+i%26))
		s.Pipelines = append(s.Pipelines, sp.status(now))
	}
	return s
}

// hostile puts what attackers and accidents write into every string that comes from outside.
func hostile(now time.Time) *dedup.Snapshot {
	const evil = `"><script>alert(1)</script>` + "\u202egnp.exe\u2066\x00\x1b[31m" + `<img src=x onerror=alert(1)>%2F?#/` + "\xff"
	s := mixed(now)
	long := evil
	for len(long) < 1<<20 {
		long += evil
	}
	for i := range s.Pipelines {
		p := &s.Pipelines[i]
		p.Pipeline.Queues = []string{evil, long}
		p.Pipeline.Vhost, p.Pipeline.IDFrom = evil, evil
		p.Pipeline.Labels = map[string]string{evil: evil}
		p.Findings = append(p.Findings, dedup.Finding{Kind: evil, Tier: dedup.Warning, Text: evil, Evidence: long, Mend: evil})
		p.Events = append(p.Events, dedup.Event{At: now.Add(-time.Minute), Kind: evil, Text: long})
		p.DeadLetterQueues = append(p.DeadLetterQueues, dedup.DeadLetterQueue{QueueRef: dedup.QueueRef{Vhost: evil, Name: long}, Type: evil, Found: evil})
		p.Down = append(p.Down, dedup.SourceHealth{Name: evil, Tried: true, Err: long})
	}
	for i := range s.Brokers {
		s.Brokers[i].Name, s.Brokers[i].Info.Version = evil, evil
		s.Brokers[i].Problems = append(s.Brokers[i].Problems, dedup.Problem{Text: long, Mend: evil})
	}
	for i := range s.Stores {
		st := &s.Stores[i]
		st.Scheme.Preset, st.Stats.Health.EvictionPolicy, st.Stats.Health.Version = evil, evil, evil
		if st.Stats.Pass != nil {
			st.Stats.Pass.Undecodable = []dedup.Marker{{Key: long, State: dedup.StateUnknown, Detail: evil}}
			st.Stats.Pass.OldestProcessing = []dedup.Marker{{Key: evil, State: dedup.State(evil), Detail: long}}
		}
	}
	for i := range s.Sources {
		s.Sources[i].Err = evil
	}
	return s
}

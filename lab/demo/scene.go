// Package demo makes snapshots and a history out of nothing but the time, so that pages can be looked at and tested
// without a broker or a store. The same time gives the same pages.
package demo

import (
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Scenes names every scene: what a page can be confronted with.
func Scenes() []string {
	return []string{"mixed", "shop", "healthy", "stale", "starting", "empty", "hostile", "many", "outage", "explained"}
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
	case "outage":
		return outage(now)
	case "explained":
		return explained(now)
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
	long := strings.Repeat(evil, 1<<20/len(evil)+1)
	for i := range s.Pipelines {
		p := &s.Pipelines[i]
		p.Pipeline.Queues = []string{evil, long}
		p.Pipeline.Vhost, p.Pipeline.IDFrom = evil, evil
		p.Pipeline.Labels = map[string]string{evil: evil}
		p.Findings = append(p.Findings, dedup.Finding{Kind: evil, Tier: dedup.Warning, Text: evil, Evidence: long, Remedy: evil})
		p.Events = append(p.Events, dedup.Event{At: now.Add(-time.Minute), Kind: evil, Text: long})
		p.Effects = &dedup.EffectCheck{At: now, Since: now, LastTry: now, Total: 2, Err: long, FreshKeys: []string{evil}, Keys: []dedup.EffectKey{effectKey(evil, 2, now), effectKey(long[:256], 3, time.Time{})}}
		p.DeadLetterQueues = append(p.DeadLetterQueues, dedup.DeadLetterQueue{QueueRef: dedup.QueueRef{Vhost: evil, Name: long}, Type: evil, Found: evil})
		for _, role := range []dedup.RouteRole{dedup.RouteMissing, dedup.RouteStream, dedup.RouteRole(evil)} {
			p.DeadLetterRoutes = append(p.DeadLetterRoutes, dedup.DeadLetterRoute{Source: dedup.QueueRef{Vhost: evil, Name: evil}, Exchange: long, RoutingKey: evil,
				Target: dedup.QueueRef{Vhost: evil, Name: long}, Role: role, Origin: evil, Note: long})
		}
		p.Down = append(p.Down, dedup.SourceHealth{Name: evil, Tried: true, Err: long})
	}
	for i := range s.Brokers {
		s.Brokers[i].Name, s.Brokers[i].Info.Version = evil, evil
		s.Brokers[i].Problems = append(s.Brokers[i].Problems, dedup.Problem{Text: long, Remedy: evil})
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

// outage is one Redis that refuses every connection, and five stores with their pipelines and counters on it. Consumers
// report no counters, and the dashboard was started a few minutes ago.
func outage(now time.Time) *dedup.Snapshot {
	const err = "Redis at 127.0.0.1:26577 refused the connection: check that it runs and that redis.url names its host and port"
	s := base(now)
	s.Brokers, s.Sources = brokers(now)[:1], sources(now)[:1]
	lost := func(kind, name string) dedup.SourceHealth {
		at := now.Add(-42 * time.Second)
		return dedup.SourceHealth{Name: kind + " " + name, Kind: kind, Tried: true, LastTry: now.Add(-5 * time.Second), LastSuccess: at, Since: at, Took: time.Millisecond, Err: err}
	}
	last := stores(now)[0].Stats.Pass
	for _, sp := range mixedSpecs()[:5] {
		sp.store, sp.down, sp.quality, sp.percentiles, sp.findings = sp.name, "store "+sp.name, dedup.QualityUnknown, false, nil
		store, reported := lost("store", sp.name), lost("reported", sp.name)
		p := sp.status(now)
		p.Down, p.Sources = []dedup.SourceHealth{store, reported}, []string{"broker main", store.Name, reported.Name}
		blind(&p, store.Name+" cannot be read: "+err, "what consumers report cannot be read: "+err)
		s.Pipelines = append(s.Pipelines, p)
		s.Stores = append(s.Stores, dedup.StoreStatus{
			Name: sp.name, Scheme: ordersScheme(), Pipelines: []string{sp.name}, Health: store, Stats: dedup.StoreStats{Pass: last},
		})
		s.Sources = append(s.Sources, store, reported)
	}
	return s
}

// blind makes every figure unknown that needs a store or what consumers report, and lets the rest go back a few minutes.
func blind(p *dedup.PipelineStatus, noStore, noReport string) {
	const up = 11*time.Minute + 59*time.Second
	for state := range p.Markers {
		p.Markers[state] = dedup.Unknown(dedup.Count, noStore)
	}
	p.MarkersNoExpiry, p.OldestProcessing = dedup.Unknown(dedup.Count, noStore), dedup.Unknown(dedup.Seconds, noStore)
	p.PassAge = dedup.Unknown(dedup.Seconds, noStore)
	for i := range p.Windows {
		w := &p.Windows[i]
		for _, f := range []*dedup.Figure{&w.Messages, &w.Redeliveries, &w.DeadLetterInflow, &w.AckMean} {
			f.Covered = min(w.Window, up)
		}
		w.DuplicateRate.Why, w.Duplicates.Why = noReport+"; "+noStore, noReport+"; "+noStore
		w.CrossCheck.Why = "no second source"
		for j, why := range []string{noReport, noIDs, noStore, noStore} {
			w.Estimates[j].Rate = refused(why, "")
		}
		for _, f := range []*dedup.Figure{&w.InFlightHits, &w.Failures, &w.FailureRate, &w.GaveUp, &w.AckP50, &w.AckP95, &w.AckP99, &w.WorkMean, &w.WorkP95,
			&w.ProducerSent, &w.Redelivered, &w.Swallowed, &w.Looping, &w.DoubleEffects, &w.Lost, &w.MeanRetries} {
			*f = dedup.Unknown(f.Unit, noReport)
			f.Better = "Let the consumers report counters (docs/consumers.md)."
		}
	}
}

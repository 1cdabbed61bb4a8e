package demo

import (
	"time"

	"dedup-dashboard/internal/dedup"
)

func sources(now time.Time) []dedup.SourceHealth {
	ok := func(name, kind string, took time.Duration) dedup.SourceHealth {
		return dedup.SourceHealth{Name: name, Kind: kind, Tried: true, OK: true, LastTry: now.Add(-5 * time.Second),
			LastSuccess: now.Add(-5 * time.Second), Since: now.Add(-31 * time.Hour), Took: took}
	}
	lost := ok("store sessions", "store", 2*time.Second)
	lost.OK, lost.LastSuccess, lost.Since, lost.Missed = false, now.Add(-8*time.Minute), now.Add(-8*time.Minute), 3
	lost.Err = "connect to 10.0.4.17:6379: connection refused. Is Redis running there, and may this machine reach it?"
	return []dedup.SourceHealth{ok("broker main", "broker", 38*time.Millisecond), ok("store orders", "store", 9*time.Millisecond), ok("store payments", "store", 14*time.Millisecond), lost}
}

func brokers(now time.Time) []dedup.BrokerStatus {
	queues, few := int64(42), int64(3)
	h := sources(now)
	trouble := h[0]
	trouble.Name = "broker warehouse"
	return []dedup.BrokerStatus{
		{
			Name: "main", Health: h[0], Info: dedup.BrokerInfo{Version: "3.13.7"}, Queues: &queues,
			State: dedup.BrokerState{Nodes: []dedup.Node{{Name: "rabbit@a", Running: true}, {Name: "rabbit@b", Running: true}, {Name: "rabbit@c", Running: true}}},
			Events: []dedup.Event{
				{At: now.Add(-21 * time.Minute), Kind: "alarm", Text: "memory alarm on rabbit@b, cleared after 40 s"},
				{At: now.Add(-9 * time.Minute), Kind: "channels_closed", Text: "Broker main: 1 channel was closed"},
				{At: now.Add(-6 * time.Minute), Kind: "channels_closed", Text: "Broker main: 36 more channels were closed from 16:20 to 16:23 UTC"},
			},
		},
		{
			Name: "warehouse", Health: trouble, Info: dedup.BrokerInfo{Version: "3.10.8"}, Queues: &few,
			State: dedup.BrokerState{
				Nodes:          []dedup.Node{{Name: "rabbit@w1", Running: true, DiskAlarm: true}, {Name: "rabbit@w2"}},
				QueuesMinority: []dedup.QueueRef{{Vhost: "/", Name: "stock.moves"}},
			},
			Problems: []dedup.Problem{{Kind: "permission_missing", Text: "The broker counts 19 queues and shows 3.", Remedy: "Give the account read permission on the other virtual hosts."}},
		},
	}
}

// passAge is how long ago the last pass over each store ended.
const passAge = 24 * time.Second

func stores(now time.Time) []dedup.StoreStatus {
	h := sources(now)
	keys, used, limit, evicted := int64(612_004), int64(96<<20), int64(256<<20), int64(0)
	health := dedup.StoreHealth{At: now, Version: "7.2.5", Role: "master", LatencyP99: 1200 * time.Microsecond, Keys: &keys, MemoryUsed: &used, MemoryMax: &limit, EvictionPolicy: "noeviction", EvictedKeys: &evicted}
	pass := &dedup.Pass{
		Started: now.Add(-70 * time.Second), Ended: now.Add(-passAge), Examined: 612_004, Matched: 586_412,
		OldestProcessing: []dedup.Marker{
			{Key: "msg:5f0c19ab-7d3e-4b7e-9c1f-2b0a6f3d91aa", State: dedup.Processing, Since: now.Add(-192 * time.Minute)},
			{Key: "msg:91aa2f77-0d1e-47b2-8f3a-64c0be5d2201", State: dedup.Processing, Since: now.Add(-61 * time.Second), Expires: now.Add(14 * time.Second)},
		},
		Undecodable: []dedup.Marker{{Key: "msg:tmp:import:2026-11-19", State: dedup.StateUnknown, Expires: now.Add(9 * time.Hour), Detail: "a hash, not a string"},
			{Key: "msg:7c1e0b52-9f4a-4c1d-8f5e-0a6b1d2c3e4f", ID: "7c1e0b52-9f4a-4c1d-8f5e-0a6b1d2c3e4f", State: dedup.StateUnknown, Expires: now.Add(3 * time.Hour), Detail: "no state has the value", Sample: `"card=4111 1111 1111 1111; total=49.90"`}},
	}
	evicting := health
	evicting.EvictionPolicy = "allkeys-lru"
	return []dedup.StoreStatus{
		{Name: "orders", Scheme: ordersScheme(), Pipelines: []string{"orders", "inventory", "invoices", "shipping-labels", "points", "search-index"},
			Health: h[1], Stats: dedup.StoreStats{Pass: pass, Health: health, Progress: dedup.Progress{Started: now.Add(-20 * time.Second), Coverage: 0.43, Examined: 261_000}}},
		{Name: "payments", Pipelines: []string{"payments"}, Scheme: dedup.Scheme{Preset: "redis-json-status", Kind: "redis-string", Mark: "before", OnInFlight: "ack", OnFail: "keep",
			States: []dedup.State{dedup.Processing, dedup.Done}, Blind: "a delivery that meets a processing marker is acked, so that its message leaves its queue without a trace once the marker has expired"},
			Health: h[2], Stats: dedup.StoreStats{Pass: pass, Health: evicting}},
		{Name: "sessions", Pipelines: []string{"mailings"}, Scheme: dedup.Scheme{Preset: "redis-text-status", Kind: "redis-string"}, Health: h[3]},
	}
}

func ordersScheme() dedup.Scheme {
	return dedup.Scheme{
		Preset: "redis-text-status", Kind: "redis-string", Mark: "before", OnInFlight: "nack", OnFail: "delete", GiveUp: 5,
		ProcessingTTL: 5 * time.Minute, DoneTTL: 24 * time.Hour, States: []dedup.State{dedup.Processing, dedup.Done},
	}
}

func untriedBrokers() []dedup.BrokerStatus {
	return []dedup.BrokerStatus{{Name: "main", Health: dedup.SourceHealth{Name: "broker main", Kind: "broker"}}}
}

func untriedStores() []dedup.StoreStatus {
	return []dedup.StoreStatus{{Name: "orders", Health: dedup.SourceHealth{Name: "store orders", Kind: "store"}, Scheme: dedup.Scheme{Preset: "redis-text-status"}}}
}

package api

import (
	"time"

	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// overviewJSON is the answer of /api/v1/overview: the state of the whole.
type overviewJSON struct {
	Round    uint64     `json:"round"`
	At       *time.Time `json:"at"`
	Interval float64    `json:"interval_seconds"`
	// Tiers count the pipelines of each tier, and Pipelines how many there are.
	Tiers     map[string]int `json:"tiers"`
	Pipelines int            `json:"pipelines"`
	// Sources are those of all pipelines.
	Sources []SourceJSON `json:"sources"`
}

// overview gives the state of the whole in a few numbers.
func (a *API) overview(r *web.Request) (web.Response, error) {
	snap, now := a.deps.Snapshots.Snapshot(), time.Now()
	body := overviewJSON{
		Round: snap.Round, At: web.Time(snap.At), Interval: snap.Interval.Seconds(), Tiers: map[string]int{}, Pipelines: len(snap.Pipelines),
		Sources: SourcesOf(snap.Sources, web.ReadingOf(snap, now)),
	}
	for _, t := range show.TiersWorstFirst() {
		body.Tiers[t.String()] = 0
	}
	for _, v := range a.site.Verdicts(snap, now) {
		body.Tiers[v.Tier.String()]++
	}
	return web.JSON{Value: body}, nil
}

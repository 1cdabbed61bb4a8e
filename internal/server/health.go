package server

import (
	"net/http"
	"time"

	"dedup-dashboard/internal/server/api"
	"dedup-dashboard/internal/server/web"
)

// healthz says that the process answers, and nothing else.
func healthz(*web.Request) (web.Response, error) {
	return web.Text{Status: http.StatusOK, Text: "ok"}, nil
}

// readiness is the answer of /readyz. Names of sources are for those who may see figures.
type readiness struct {
	Ready   bool             `json:"ready"`
	Why     string           `json:"why,omitempty"`
	Sources []api.SourceJSON `json:"sources,omitempty"`
}

// probes tell whether the dashboard is ready.
type probes struct {
	snapshots snapshots
	history   history
}

// readyz answers 200 once a first attempt at every source has ended and the history is open. A source that is down does not
// make the dashboard unready: it is there to show that.
func (p probes) readyz(r *web.Request) (web.Response, error) {
	var body readiness
	switch {
	case !historyOpen(p.history):
		body.Why = "the history is still being opened"
	case !p.snapshots.Tried():
		body.Why = "not every source has been tried yet"
	default:
		body.Ready = true
	}
	if r.Who.Can(viewer) {
		snap := p.snapshots.Snapshot()
		body.Sources = api.SourcesOf(snap.Sources, web.ReadingOf(snap, time.Now()))
	}
	status := http.StatusOK
	if !body.Ready {
		status = http.StatusServiceUnavailable
	}
	return web.JSON{Status: status, Value: body}, nil
}

func historyOpen(h history) bool {
	select {
	case <-h.Ready():
		return true
	default:
		return false
	}
}

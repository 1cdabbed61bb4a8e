package deadletter

import (
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// overviewJSON is the answer of /api/v1/dead-letters.
type overviewJSON struct {
	Round     uint64         `json:"round"`
	At        *time.Time     `json:"at"`
	Interval  float64        `json:"interval_seconds"`
	Pipelines []pipelineJSON `json:"pipelines"`
}

// pipelineJSON is the dead letters of one pipeline.
type pipelineJSON struct {
	Pipeline    string         `json:"pipeline"`
	DeadLetters web.FigureJSON `json:"dead_letters"`
	Inflow      web.FigureJSON `json:"inflow"`
	// Lost says why its dead letters are dropped; empty where they are not.
	Lost     string                    `json:"lost"`
	Baseline *web.BaselineJSON         `json:"dead_letter_baseline"`
	Queues   []web.DeadLetterQueueJSON `json:"dead_letter_queues"`
	// Jobs are those that move its messages now, for those who may see jobs.
	Jobs []string `json:"jobs"`
}

// apiOverview gives the dead letters of every pipeline, in the order of the page: those whose messages are lost first, then those with the
// most.
func (s pages) apiOverview(r *web.Request) (web.Response, error) {
	snap, now := s.deps.Snapshots.Snapshot(), time.Now()
	read, running := web.ReadingOf(snap, now), s.runningJobs(r)
	body := overviewJSON{Round: snap.Round, At: web.Time(snap.At), Interval: snap.Interval.Seconds(), Pipelines: []pipelineJSON{}}
	for _, p := range mostDeadFirst(snap) {
		body.Pipelines = append(body.Pipelines, pipelineOf(p, read, running))
	}
	return web.JSON{Value: body}, nil
}

func pipelineOf(p *dedup.PipelineStatus, read web.Reading, running map[string]string) pipelineJSON {
	j := pipelineJSON{
		Pipeline: p.Pipeline.Name, DeadLetters: read.Figure(p.DeadLetters), Inflow: read.Figure(show.Figures(p, time.Hour).DeadLetterInflow), Lost: show.Dropped(p),
		Baseline: web.BaselineOf(p.Baseline), Queues: []web.DeadLetterQueueJSON{}, Jobs: []string{},
	}
	for _, q := range p.DeadLetterQueues {
		j.Queues = append(j.Queues, read.DeadLetterQueue(q))
		if id := running[runningKey(p.Pipeline.Name, q.Name)]; id != "" {
			j.Jobs = append(j.Jobs, id)
		}
	}
	return j
}

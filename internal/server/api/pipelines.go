package api

import (
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
)

// PipelinesJSON is the answer of /api/v1/pipelines.
type PipelinesJSON struct {
	// Round counts the rounds of the collector; 0 before the first one has ended.
	Round     uint64         `json:"round"`
	At        *time.Time     `json:"at"`
	Interval  float64        `json:"interval_seconds"`
	Pipelines []PipelineJSON `json:"pipelines"`
	// SharedQueues are judged by themselves.
	SharedQueues []SharedQueueJSON `json:"shared_dead_letter_queues"`
}

// pipelineFilter is what the query of the list asks for.
type pipelineFilter struct {
	text  string
	tiers map[string]bool
	risks map[string]bool
	// labels are the values that each label may have.
	labels map[string][]string
	byName bool
}

func parseFilter(q url.Values) (pipelineFilter, error) {
	f := pipelineFilter{text: strings.ToLower(q.Get("q")), tiers: map[string]bool{}, risks: map[string]bool{}, labels: map[string][]string{}}
	for _, word := range list.Words(q["tier"]) {
		if _, ok := dedup.ParseTier(word); !ok {
			return f, web.Invalid("There is no tier " + show.Clean(word, 40) + "; use normal, warning, severe, emergency or unknown")
		}
		f.tiers[word] = true
	}
	for _, word := range list.Words(q["risk"]) {
		if word != "low" && word != "medium" && word != "high" && word != "unknown" {
			return f, web.Invalid("There is no risk " + show.Clean(word, 40) + "; use low, medium, high or unknown")
		}
		f.risks[word] = true
	}
	for _, pair := range q["label"] {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return f, web.Invalid("Write a label as ?label=team=shop")
		}
		f.labels[key] = append(f.labels[key], value)
	}
	switch q.Get("sort") {
	case "", "tier":
	case "name":
		f.byName = true
	default:
		return f, web.Invalid("Sort by tier or name")
	}
	return f, nil
}

func (f pipelineFilter) admits(p PipelineJSON) bool {
	if f.text != "" && !strings.Contains(strings.ToLower(p.Name), f.text) {
		return false
	}
	if len(f.tiers) > 0 && !f.tiers[p.Tier] || len(f.risks) > 0 && !f.risks[p.Risk] {
		return false
	}
	for key, values := range f.labels {
		if !slices.Contains(values, p.Labels[key]) {
			return false
		}
	}
	return true
}

// pipelines lists the pipelines, the worst first.
func (a *API) pipelines(r *web.Request) (web.Response, error) {
	filter, err := parseFilter(r.URL.Query())
	if err != nil {
		return nil, err
	}
	snap, now := a.snapshot(r), time.Now()
	body := PipelinesJSON{Round: snap.Round, At: web.Time(snap.At), Interval: snap.Interval.Seconds(), Pipelines: []PipelineJSON{}, SharedQueues: sharedQueuesOf(snap, web.ReadingOf(snap, now))}
	verdicts := a.site.Verdicts(snap, now)
	rank := map[string]int{}
	for i := range snap.Pipelines {
		p := pipelineOf(snap, &snap.Pipelines[i], verdicts[i], web.ReadingOf(snap, now))
		if filter.admits(p) {
			body.Pipelines = append(body.Pipelines, p)
			rank[p.Name] = verdicts[i].Tier.Rank()
		}
	}
	sort.SliceStable(body.Pipelines, func(i, j int) bool {
		one, other := body.Pipelines[i].Name, body.Pipelines[j].Name
		if !filter.byName && rank[one] != rank[other] {
			return rank[one] < rank[other]
		}
		return one < other
	})
	return web.JSON{Value: body}, nil
}

// pipeline gives everything known of one pipeline.
func (a *API) pipeline(r *web.Request) (web.Response, error) {
	snap, now := a.snapshot(r), time.Now()
	name := r.PathValue("name")
	for i := range snap.Pipelines {
		if snap.Pipelines[i].Pipeline.Name == name {
			return web.JSON{Value: detailOf(snap, &snap.Pipelines[i], a.site.Verdicts(snap, now)[i], web.ReadingOf(snap, now))}, nil
		}
	}
	if snap.Round == 0 {
		return nil, web.Starting()
	}
	return nil, web.NotFound("There is no pipeline " + name)
}

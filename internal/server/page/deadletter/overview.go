package deadletter

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// jobsLooked is how many of the newest jobs are asked whether they still run.
const jobsLooked = 50

// deadOverview answers the list of every pipeline with dead letters.
func (s pages) deadOverview(r *web.Request) (web.Response, error) {
	snap, now := s.deps.Snapshots.Snapshot(), r.Now()
	v := templates.DeadLettersView{
		LivePage: show.LivePage(s.site.Frame(r, "Dead letters"), s.site.Base+"/dead-letters", snap, now), Empty: noDeadLettersAtAll(snap),
	}
	v.Frame.Live = web.Live("overview")
	running := s.runningJobs(r)
	for _, p := range mostDeadFirst(snap) {
		link := show.Crumb(p.Pipeline.Name, letter.QueueAddress(s.site.Base, p.Pipeline.Name, ""))
		switch {
		case show.Dropped(p) != "":
			v.Rows = append(v.Rows, s.deadPipeline(p, running, now))
		case len(p.DeadLetterQueues) == 0:
			link.Href = s.site.Base + "/pipelines/" + url.PathEscape(p.Pipeline.Name)
			v.Without = append(v.Without, link)
		case p.DeadLetters.Known() && p.DeadLetters.High == 0 && !p.DeadLetters.AtLeast:
			v.Quiet = append(v.Quiet, link)
		default:
			v.Rows = append(v.Rows, s.deadPipeline(p, running, now))
		}
	}
	for i := range snap.Pipelines {
		if d := snap.Pipelines[i].BrokerDeaths; d != nil {
			v.Deaths = show.Deaths(d, now)
			break
		}
	}
	for _, row := range v.Rows {
		v.Dated, v.Reasoned = v.Dated || row.Oldest != "", v.Reasoned || row.Reasons != ""
	}
	v.Sum = sumText(v.Rows, snap)
	return web.Page{Component: templates.DeadLetters(v)}, nil
}

// sumText says how many dead letters there are, and of how many pipelines they are dropped instead.
func sumText(rows []templates.DeadPipeline, snap *dedup.Snapshot) string {
	n, lost, dark := 0, 0, 0
	for _, row := range rows {
		switch {
		case len(row.Queues) == 0:
		case !row.Depth.Known:
			dark++
		default:
			n++
		}
		if row.Lost.Short != "" {
			lost++
		}
	}
	text := ""
	switch {
	case n > 0 && show.DeadCount(snap) == "1":
		text = "1 dead letter, of " + show.Pipelines(n) + "."
	case n > 0:
		text = cmp.Or(show.DeadCount(snap), "0") + " in " + show.Counted(len(show.DeadDepths(snap)), "dead-letter queue") + " of " + show.Pipelines(n) + "."
	}
	switch {
	case n > 0 && dark > 0:
		text += " Of " + show.Pipelines(dark) + " the number is unknown."
	case dark > 0:
		text = "How many there are is unknown: the dead-letter queues of " + show.Pipelines(dark) + " cannot be read."
	}
	if lost > 0 {
		text = strings.TrimSpace(text + " Those of " + show.Pipelines(lost) + " are lost.")
	}
	return text
}

// mostDeadFirst sorts pipelines by their dead letters: first those whose messages are lost, and last those of which nothing is known.
func mostDeadFirst(snap *dedup.Snapshot) []*dedup.PipelineStatus {
	depth := func(p *dedup.PipelineStatus) float64 {
		switch {
		case show.Dropped(p) != "":
			return math.Inf(1)
		case p.DeadLetters.Known():
			return p.DeadLetters.High
		}
		return -1
	}
	all := make([]*dedup.PipelineStatus, len(snap.Pipelines))
	for i := range snap.Pipelines {
		all[i] = &snap.Pipelines[i]
	}
	slices.SortStableFunc(all, func(a, b *dedup.PipelineStatus) int { return cmp.Compare(depth(b), depth(a)) })
	return all
}

func noDeadLettersAtAll(snap *dedup.Snapshot) templates.Empty {
	if snap.Round == 0 {
		return templates.Empty{Heading: "Nothing is known yet", Text: "The first reading of the brokers is under way."}
	}
	return templates.Empty{Heading: "No dead letters", Text: "Every dead-letter queue that is known is empty."}
}

func (s pages) deadPipeline(p *dedup.PipelineStatus, running map[string]string, now time.Time) templates.DeadPipeline {
	base, name := s.site.Base, p.Pipeline.Name
	row := templates.DeadPipeline{
		Name: show.Name(name), Href: letter.QueueAddress(base, name, ""), Depth: show.Reading(p.DeadLetters, now),
		Inflow: show.InflowFigure(show.Blameless(show.Figures(p, time.Hour).DeadLetterInflow), now),
	}
	if lost := show.Dropped(p); lost != "" {
		row.Lost = templates.Sentence(lost)
	}
	if b := p.Baseline; b != nil && p.DeadLetters.Known() {
		row.Fresh = templates.Number(max(0, p.DeadLetters.High-float64(b.Count))) + " new, " + templates.Number(b.Count) + " acknowledged"
	}
	for _, q := range p.DeadLetterQueues {
		line := templates.DeadQueueLine{Name: show.Name(q.Name), Href: letter.QueueAddress(base, name, q.Name), Depth: show.Reading(q.Depth, now)}
		if q.Shared.Any() {
			line.Shared = templates.Sentence("shared with " + show.Sharers(q.Shared))
		}
		if id := running[runningKey(name, q.Name)]; id != "" {
			line.Job = letter.JobAddress(base, id)
		}
		row.Queues = append(row.Queues, line)
	}
	return row
}

// runningKey joins a pipeline and a queue: neither holds a NUL.
func runningKey(pipeline, queue string) string { return pipeline + "\x00" + queue }

// runningJobs maps queues to the jobs that are moving their messages, for those who may see jobs. What cannot be asked is left out:
// the list of dead letters must not depend on it.
func (s pages) runningJobs(r *web.Request) map[string]string {
	running := map[string]string{}
	if s.deps.Letters == nil || !r.Who.Can(auth.Operator) {
		return running
	}
	jobs, err := s.deps.Letters.Jobs(r.Context(), r.Asker(), jobsLooked)
	if err != nil {
		s.deps.Log.Warn("running jobs cannot be read", "request", r.ID, "err", err)
		return running
	}
	for _, j := range jobs {
		if !j.State.Final() {
			running[runningKey(j.Pipeline, j.Queue)] = j.ID
		}
	}
	return running
}

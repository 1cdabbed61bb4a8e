package deadletter

import (
	"cmp"
	"net/url"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// noDeadQueue is the page of a pipeline without a dead-letter queue: what becomes of its dead letters, and what to do.
func (s pages) noDeadQueue(r *web.Request, d queuePage) templates.NoDeadQueueView {
	name := d.p.Pipeline.Name
	v := templates.NoDeadQueueView{
		Frame: s.site.Frame(r, "Dead letters of "+show.ShortName(name)), Crumbs: letter.Crumbs(d.base, name, ""), Name: show.Name(name),
		Pipeline: d.base + "/pipelines/" + url.PathEscape(name), Routes: show.Routes(d.p),
		Problem: show.Problem(dedup.TierUnknown, "No dead-letter queue of this pipeline is known, so that there is nothing to look at.", ""),
	}
	if why := d.p.DeadLetters.Why; why != "" && !d.p.DeadLetters.Known() {
		v.Problem.Evidence = show.Statement(why)
	}
	for _, route := range d.p.DeadLetterRoutes {
		if route.Role != dedup.RouteMissing {
			continue
		}
		why, end := show.DroppedWhy(route)
		v.Problem = show.Problem(dedup.TierUnknown, "Messages that die in queue "+show.Within(route.Source.Name)+" are "+cmp.Or(end, "dropped")+": "+show.EndSentence(why)+" There is nothing to look at.",
			"To keep them, give the queue a dead-letter exchange with a queue bound to it.")
		if show.IsDropped(route) {
			v.Problem.Tier = dedup.Severe.String()
			v.Problem.Remedy = templates.Sentence("Declare the exchange and bind a queue to it, or name one that exists. What was dropped before cannot be brought back from here.")
			break
		}
	}
	return v
}

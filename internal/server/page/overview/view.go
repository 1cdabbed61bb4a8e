package overview

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// View builds the first page: worst first, filtered and sorted as its address says. Times are shown in the
// zone of now. Measurable tells which pipelines who asks can measure.
func View(snap *dedup.Snapshot, judge show.Judge, q Query, now time.Time, frame templates.Frame, measurable func(pipeline string) bool) templates.OverviewView {
	if snap == nil {
		snap = &dedup.Snapshot{}
	}
	v := templates.OverviewView{LivePage: show.LivePage(frame, q.Address(frame.Base), snap, now), Starting: snap.Round == 0}
	v.Brokers, v.Stores = sourceCards(snap, now)
	v.Stores, v.Calm = foldCalm(v.Stores)
	if len(v.Calm) > 0 {
		v.CalmWord = calmWord(v.Calm)
	}
	all := judgeAll(snap, judge, v.Late)
	v.Total = len(all)
	v.Tiers = tierCounts(all, q, frame.Base)
	v.Stats = headline(all, now)
	v.Filter = filterView(all, q, frame.Base)
	v.Columns = list.Heads(columns(), q.order, func(o list.Order) string {
		link := q
		link.order, link.page = o, 1
		return link.Address(frame.Base)
	})

	shown := slices.DeleteFunc(slices.Clone(all), func(p show.Judged) bool { return !q.matches(p.PipelineStatus, p.Verdict.Tier) })
	v.Matching = len(shown)
	shown, at := list.Cut(sortPipelines(shown, q.order), perPage, q.page)
	v.PageNote = at.Note
	for _, p := range shown {
		row := pipelineRow(snap, p, frame.Base, now)
		if measurable(p.Pipeline.Name) {
			show.OfferMeasure(row.Href, &row.Duplicates, &row.Latency)
		}
		v.Rows = append(v.Rows, row)
	}
	v.Pages = at.Links(func(n int) string {
		link := q
		link.page = n
		return link.Address(frame.Base)
	})
	v.Empty = emptyOverview(v, frame.Base)
	return v
}

// sourceCards are the brokers and the stores, those that are lost for the same reason on one card.
func sourceCards(snap *dedup.Snapshot, now time.Time) (brokers, stores []templates.SourceCard) {
	var of []sourceAt
	for i := range snap.Brokers {
		b := &snap.Brokers[i]
		of = append(of, sourceAt{b.Name, b.Health, brokerCard(b, now)})
	}
	brokers, of = foldLost("broker", of, now), nil
	for i := range snap.Stores {
		st := &snap.Stores[i]
		of = append(of, sourceAt{st.Name, st.Health, storeCard(st, now)})
	}
	return brokers, foldLost("store", of, now)
}

// judgeAll judges every pipeline. While rounds are late nothing can be told, and the old verdicts are not shown.
func judgeAll(snap *dedup.Snapshot, judge show.Judge, late string) []show.Judged {
	all := make([]show.Judged, 0, len(snap.Pipelines))
	for i := range snap.Pipelines {
		p := &snap.Pipelines[i]
		all = append(all, show.Judged{PipelineStatus: p, Verdict: show.VerdictOf(p, judge, late)})
	}
	return all
}

func tierCounts(all []show.Judged, q Query, base string) []templates.TierCount {
	counts, blind := map[dedup.Tier]int{}, 0
	for _, p := range all {
		counts[p.Verdict.Tier]++
		if p.Verdict.Tier != dedup.TierUnknown && len(p.Down) > 0 {
			blind++
		}
	}
	var out []templates.TierCount
	for _, t := range show.TiersWorstFirst() {
		link := q
		link.page = 1
		link.tiers = []dedup.Tier{t}
		active := len(q.tiers) == 1 && q.tiers[0] == t
		if active {
			link.tiers = nil // the same tile again shows all
		}
		tile := templates.TierCount{Tier: t.String(), Count: counts[t], Href: link.Address(base), Active: active}
		if t == dedup.TierUnknown && blind > 0 { // they keep the tier that the rest shows, and are not known all the same
			tile.Note = "+" + templates.Number(blind) + " in part: a source is down"
		}
		out = append(out, tile)
	}
	return out
}

func filterView(all []show.Judged, q Query, base string) templates.Filter {
	clear := Query{order: q.order}
	return templates.Filter{
		Query: q.text, Any: q.filtered(), Clear: clear.Address(base), Tiers: show.TierChoices(q.tiers), Labels: labelChoices(all, q), Sorts: list.Sorts(columns(), q.order),
	}
}

// labelChoices lists every label of the pipelines, so that nobody has to know them by heart.
func labelChoices(all []show.Judged, q Query) []templates.Choice {
	pairs := map[string]bool{}
	for _, p := range all {
		for name, value := range p.Pipeline.Labels {
			pairs[name+"="+value] = true
		}
	}
	chosen := ""
	if q.label != "" {
		chosen = q.label + "=" + q.value
		pairs[chosen] = true
	}
	return append([]templates.Choice{{Label: "any"}}, show.NameChoices(slices.SortedFunc(maps.Keys(pairs), show.CompareText), chosen)...)
}

func emptyOverview(v templates.OverviewView, base string) templates.Empty {
	switch {
	case v.Total > 0:
		return templates.Empty{
			Heading: "No pipeline matches this filter", Text: "There are " + strconv.Itoa(v.Total) + " pipelines in all.",
			Href: v.Filter.Clear, Link: "Show all of them",
		}
	case v.Starting:
		return templates.Empty{
			Heading: "The first reading is under way",
			Text:    "Brokers and stores are being read for the first time. Figures appear when the first round has ended, within one interval.",
			Href:    base + "/", Link: "Reload",
		}
	default:
		return templates.Empty{
			Heading: "No pipeline is configured",
			Text:    "Add a broker, a store and a pipeline to the configuration file and start again; config.example.yaml shows every key.",
		}
	}
}

// noteAttended says on each tile of how many of its pipelines all that fires at this tier was acknowledged.
func noteAttended(tiles []templates.TierCount, snap *dedup.Snapshot, verdicts []alerts.Verdict, view *alerts.View) {
	type place struct {
		pipeline string
		tier     dedup.Tier
	}
	firing, waiting := map[place]bool{}, map[place]bool{}
	for _, a := range view.Alerts {
		if at := (place{show.PipelineOf(a), a.State.Tier}); at.pipeline != "" && show.Fires(a) {
			firing[at], waiting[at] = true, waiting[at] || a.Ack == nil
		}
	}
	counts := map[string]int{}
	for i, v := range verdicts {
		if at := (place{snap.Pipelines[i].Pipeline.Name, v.Tier}); firing[at] && !waiting[at] {
			counts[v.Tier.String()]++
		}
	}
	for i := range tiles {
		if n := counts[tiles[i].Tier]; n > 0 {
			tiles[i].Note = strings.TrimPrefix(tiles[i].Note+" · "+templates.Number(n)+" acknowledged", " · ")
		}
	}
}

package effects

import (
	"cmp"
	"net/url"
	"strconv"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// perPage is how many business keys the list has on a page.
const perPage = 200

// snapshots gives what is known now; never nil.
type snapshots interface{ Snapshot() *dedup.Snapshot }

// pages answer with the double effects of a pipeline.
type pages struct {
	snapshots snapshots
	site      web.Site
}

// New returns the routes of double effects.
func New(s snapshots) web.Pages {
	return func(site web.Site) []web.Route {
		p := pages{s, site}
		const of = "/pipelines/{name}/effects"
		return []web.Route{web.Get(of, auth.Viewer, p.list), web.Get(of+".csv", auth.Viewer, p.csv), web.APIGet(of, auth.Viewer, p.api)}
	}
}

// of returns the pipeline of a request.
func (s pages) of(r *web.Request) (*dedup.Snapshot, *dedup.PipelineStatus, error) {
	snap := s.snapshots.Snapshot()
	p, ok := snap.Pipeline(r.PathValue("name"))
	if !ok {
		return nil, nil, web.MissingPipeline(snap, r.PathValue("name"))
	}
	return snap, p, nil
}

// list answers the list of the business keys whose work was done more than once.
func (s pages) list(r *web.Request) (web.Response, error) {
	snap, p, err := s.of(r)
	if err != nil {
		return nil, err
	}
	var number int
	if err := list.Read(r.URL.Query(), list.PageNumber(&number)); err != nil {
		return nil, err
	}
	now := r.Now()
	name := show.Name(p.Pipeline.Name)
	frame := s.site.Frame(r, "Double effects of "+name.Short)
	frame.Live = web.Live("pipeline:" + p.Pipeline.Name)
	path := frame.Base + "/pipelines/" + url.PathEscape(p.Pipeline.Name)
	v := templates.EffectsPage{
		LivePage: show.LivePage(frame, path+"/effects?page="+strconv.Itoa(number), snap, now), Name: name, Pipeline: path,
		Effects: Section(p, path, number, perPage, now),
	}
	if number > 1 {
		v.Newer = path + "/effects?page=" + strconv.Itoa(number-1)
	}
	if v.Effects.Total > number*perPage {
		v.Older = path + "/effects?page=" + strconv.Itoa(number+1)
	}
	return web.Page{Component: templates.Effects(v)}, nil
}

// csv answers the list as a table, to be worked through by whoever undoes the second effects.
func (s pages) csv(r *web.Request) (web.Response, error) {
	_, p, err := s.of(r)
	if err != nil {
		return nil, err
	}
	e := p.Effects
	if e == nil {
		return nil, noCheck(p)
	}
	if e.At.IsZero() {
		return nil, web.Unavailable("The effect check has not succeeded yet; " + show.Within(cmp.Or(e.Err, "it has not run")))
	}
	table := list.NewTable(p.Pipeline.Name+"-double-effects.csv", []list.Column[dedup.EffectKey]{
		{Head: "business_key", Cell: func(k dedup.EffectKey) string { return templates.Escape(k.Key) }},
		{Head: "count", Cell: func(k dedup.EffectKey) string { return list.Whole(k.Count) }},
		{Head: "found", Cell: func(k dedup.EffectKey) string { return list.Time(k.Found) }},
		{Head: "checked", Cell: func(dedup.EffectKey) string { return list.Time(e.At) }},
	}, e.Keys)
	table.Notes = notes(e)
	return web.CSV{Table: table}, nil
}

func noCheck(p *dedup.PipelineStatus) error {
	return web.NotFound("Pipeline " + show.Within(p.Pipeline.Name) + " has no effect check: add effect_check to it in the configuration")
}

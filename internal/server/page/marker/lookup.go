package marker

import (
	"net/url"
	"time"
	"unicode/utf8"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// lookup answers the page of one id or business key across every store. The form sends `term`; the address to share has
// `id`, because a control named id would hide the form's own.
func (s *pages) lookup(r *web.Request) (web.Response, error) {
	query := r.URL.Query()
	if term := query.Get("term"); term != "" {
		return web.Redirect{To: s.site.Base + "/lookup?" + url.Values{"id": {term}}.Encode()}, nil
	}
	term := query.Get("id")
	v := templates.LookupView{Frame: s.site.Frame(r, "Look up"), Term: term, Self: s.site.Base + "/lookup?" + url.Values{"id": {term}}.Encode()}
	if r.Who.Can(auth.Operator) {
		v.Audit = s.site.Base + "/audit"
	}
	if term == "" {
		return web.Page{Component: templates.Lookup(v)}, nil
	}
	result, err := s.lookedUp(r, term)
	if err != nil {
		return nil, err
	}
	now := r.Now()
	v.At = show.Moment(result.At, now)
	snap := s.deps.Snapshots.Snapshot()
	found, silent := 0, 0
	for _, a := range result.Stores {
		answer := s.lookupStore(r, snap, a, now)
		found += len(a.Found)
		switch {
		case a.Err != "":
			silent++
			v.Stores = append(v.Stores, answer)
		case len(a.Found) > 0:
			v.Stores = append(v.Stores, answer)
		default:
			v.Nothing = append(v.Nothing, answer)
		}
	}
	if n := len(v.Nothing); n > 0 {
		v.NothingSum = show.Counted(n, "store") + ": nothing"
		if len(v.Stores) == 0 { // the heading says so already
			v.NothingSum = "What each store answered"
		}
	}
	v.Silent, v.Sum = silentText(silent), lookupSum(found, silent, len(result.Stores))
	story, missing := s.timeline(r, term, result, now)
	v.Timeline, v.TimelineMissing = story, templates.Sentence(missing)
	return web.Page{Component: templates.Lookup(v)}, nil
}

// lookedUp asks every store.
func (s *pages) lookedUp(r *web.Request, term string) (marker.LookupResult, error) {
	if term == "" || len(term) > admin.MaxTerm {
		return marker.LookupResult{}, list.Bad("id", "must have 1 to "+templates.Number(admin.MaxTerm)+" bytes")
	}
	if !utf8.ValidString(term) {
		return marker.LookupResult{}, list.Bad("id", "must be valid UTF-8")
	}
	service, err := s.service()
	if err != nil {
		return marker.LookupResult{}, err
	}
	result, err := service.Lookup(r.Context(), r.Asker(), term) // bounds itself, store by store
	for i := range result.Stores {
		for j := range result.Stores[i].Found {
			found := &result.Stores[i].Found[j]
			found.Marker = s.site.Masker.Masked(found.Marker, r.Who)
		}
	}
	return result, err
}

// lookupSum says what was found. A store that did not answer is never silence about a marker.
func lookupSum(found, silent, stores int) string {
	answered := show.Counted(stores-silent, "store")
	text := "No marker in " + answered
	if found > 0 {
		text = show.Counted(found, "marker") + " in " + answered
	}
	switch {
	case silent == 0:
		return text
	case silent == stores:
		return "Unknown: no store answered"
	default:
		return text + "; " + silentText(silent)
	}
}

// silentText says how many stores did not answer; empty where all did.
func silentText(silent int) string {
	if silent == 0 {
		return ""
	}
	return show.Counted(silent, "store") + " did not answer"
}

func (s *pages) lookupStore(r *web.Request, snap *dedup.Snapshot, a marker.LookupAnswer, now time.Time) templates.LookupStore {
	out := templates.LookupStore{
		Name: show.Name(a.Store), Scheme: show.SchemeText(a.Scheme), Word: "no marker", Tier: dedup.Normal.String(),
		Took: "answered in " + templates.Latency(a.Took.Seconds()),
	}
	for _, name := range snap.PipelinesOf(a.Store) {
		out.Pipelines = append(out.Pipelines, show.Crumb(name, web.MarkersAddress(s.site.Base, name)))
	}
	if len(a.Found) > 0 {
		out.Word = show.Counted(len(a.Found), "marker")
	}
	if a.Err != "" {
		out.Word, out.Tier, out.Err = "did not answer", dedup.TierUnknown.String(), templates.Sentence(a.Err)
		out.Took = "after " + templates.Latency(a.Took.Seconds())
	}
	for _, j := range a.Found {
		out.Found = append(out.Found, s.lookupHit(r, a.Store, j, now))
		if j.Verdict.Stuck() {
			out.Tier = templates.VerdictTier(string(j.Verdict))
		}
	}
	return out
}

func (s *pages) lookupHit(r *web.Request, store string, j marker.Judged, now time.Time) templates.LookupHit {
	j.Store = store
	offset := web.ClockOffset(j.Sighting)
	h := templates.LookupHit{
		Line:  web.MarkerLine(web.JudgedMarker{Marker: j.Marker, Verdict: j.Verdict, Reasons: j.Reasons}, s.site.Base, offset, now),
		State: string(j.State), Reasons: show.Texts(j.Reasons, now), History: s.site.HistoryLines(r, j.History, now),
		Facts: []templates.Fact{{Label: "Key", Value: show.LongKey(j.Key).Short}},
	}
	if j.Owner != "" {
		h.Facts = append(h.Facts, templates.Fact{Label: "Owner", Value: show.Key(j.Owner).Short})
	}
	if j.Retry != nil {
		h.Facts = append(h.Facts, templates.Fact{Label: "Retry counter", Value: show.ShortName(j.Retry.Value) + " failures, " + show.Key(j.Retry.Key).Short})
	}
	if o := j.Other; o != nil {
		text := "another id, which the store takes for the one that was looked up: it is the marker of another message"
		if o.MayBeOwn {
			text = "another id: the store cannot keep the one that was looked up as it is, and the marker may be that of another message"
		}
		h.Facts = append(h.Facts, templates.Fact{Label: "Its id", Value: text})
	}
	if detail := web.DetailText(j.Marker); detail != "" {
		h.Facts = append(h.Facts, templates.Fact{Label: "Detail", Value: show.Within(detail)})
	}
	return h
}

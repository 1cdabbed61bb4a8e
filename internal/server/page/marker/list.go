package marker

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// browseTimeout bounds a live reading of a store.
const browseTimeout = 5 * time.Second

// markersPage is what the page of the markers of one pipeline is made of.
type markersPage struct {
	snap  *dedup.Snapshot
	p     *dedup.PipelineStatus
	st    *dedup.StoreStatus
	q     markersQuery
	who   web.Reader
	judge markerJudge
	// changed is what operations did to the store's markers since the last pass began, by key.
	changed map[string]marker.Change
	now     time.Time
	base    string
	path    string
	// live is the page of a live reading, liveErr why there is none.
	live    *marker.BrowsePage
	liveErr error
	// missing says why there are no controls.
	missing string
	// wrong says what of the address cannot be read; nil where all can.
	wrong error
}

// listed returns the markers of a list of the last complete pass, each with its verdict. Done, present and unknown markers
// are not listed by a pass.
func (m markersPage) listed() []web.JudgedMarker {
	if m.st == nil || m.st.Stats.Pass == nil {
		return nil
	}
	pass := m.st.Stats.Pass
	lists := map[marker.List][]dedup.Marker{
		marker.ProcessingList: pass.OldestProcessing, marker.FailedList: pass.FailedMarkers,
		marker.PermanentList: pass.Permanent, marker.GaveUpList: pass.GaveUpMarkers,
	}
	list := lists[m.q.state]
	out := make([]web.JudgedMarker, 0, len(list))
	for _, x := range list {
		x.Store = cmp.Or(x.Store, m.st.Name)
		j := m.judge.of(x, m.st, m.who)
		j.Changed = m.changeOf(x)
		out = append(out, j)
	}
	return out
}

// changeOf is what an operation did to a marker after the pass saw it. A marker that began after that is another one.
func (m markersPage) changeOf(x dedup.Marker) *marker.Change {
	c, ok := m.changed[x.Key]
	if !ok || c.Result == dedup.Restored || !x.Since.IsZero() && x.Since.Add(-m.offset()).After(c.At) {
		return nil
	}
	return &c
}

// total is how many markers the last pass counted in the list; -1 when that is not known.
func (m markersPage) total(list marker.List) int64 {
	if m.st == nil || m.st.Stats.Pass == nil || m.st.Stats.Pass.Unfit() {
		return -1
	}
	pass := m.st.Stats.Pass
	switch list {
	case marker.PermanentList:
		var sum int64
		for state, n := range pass.NoExpiry {
			if state != dedup.StateUnknown { // they are in the list of what could not be decoded
				sum += n
			}
		}
		return max(sum, int64(len(pass.Permanent)))
	case marker.GaveUpList:
		return max(pass.GaveUp.Total()+pass.UndatedGaveUp, int64(len(pass.GaveUpMarkers)))
	case marker.FailedList:
		return max(pass.States[dedup.Failed], int64(len(pass.FailedMarkers)))
	case marker.ProcessingList:
		return max(pass.States[dedup.Processing], int64(len(pass.OldestProcessing)))
	default:
		return pass.States[dedup.State(list)]
	}
}

// shows reports whether the scheme can show markers of the list.
func (m markersPage) shows(list marker.List) bool {
	if m.st == nil {
		return list == marker.ProcessingList
	}
	if m.total(list) > 0 || list == m.q.state {
		return true
	}
	states := m.st.Scheme.States
	switch list {
	case marker.PermanentList:
		return m.st.Scheme.ProcessingTTL > 0 || m.st.Scheme.DoneTTL > 0
	case marker.GaveUpList:
		return m.st.Scheme.GiveUp > 0
	case unknownList:
		return false
	default:
		return slices.Contains(states, dedup.State(list)) || len(states) == 0 && list != presentList
	}
}

// view builds the page.
func (m markersPage) view(frame templates.Frame) templates.MarkersView {
	v := templates.MarkersView{
		LivePage: show.LivePage(frame, m.q.address(m.path), m.snap, m.now), Name: show.LongName(m.p.Pipeline.Name), Store: show.Name(m.p.Pipeline.Store), Heading: listHeading(m.q.state),
		Crumbs: append(show.PipelineCrumbs(m.base, m.p.Pipeline.Name), show.Crumb("Markers", "")),
	}
	if m.st != nil {
		v.Scheme = show.SchemeText(m.st.Scheme)
	}
	v.Notes, v.Meaning = m.notes(), m.meaning()
	v.Tabs, v.Examined = m.tabs(), m.examined()
	v.Filter = m.filter()
	switch {
	case m.wrong != nil:
		v.Empty = web.BadFilter(m.wrong, m.path)
	case m.q.live():
		m.browsed(&v)
	default:
		m.paged(&v)
	}
	for _, r := range v.Rows {
		v.Counted = v.Counted || r.Attempts != ""
		v.Owned = v.Owned || r.Owner.Short != ""
		v.Detailed = v.Detailed || r.Detail.Short != ""
	}
	v.Judged = m.q.state == marker.ProcessingList || m.q.state == marker.PermanentList
	if m.st != nil && m.st.Stats.Pass != nil && show.IsLost(m.st.Health) {
		v.VerdictsAsOf = show.Moment(m.st.Stats.Pass.Ended, m.now)
	}
	return v
}

// selected is what a query selects from a list of the last complete pass, in its order.
type selected struct {
	listed   int
	matching []web.JudgedMarker
	// verdicts counts what passes the text filter, whatever verdict is asked for.
	verdicts map[dedup.Verdict]int
}

func (m markersPage) selected() selected {
	all := m.listed()
	s := selected{listed: len(all), matching: make([]web.JudgedMarker, 0, len(all)), verdicts: map[dedup.Verdict]int{}}
	for _, x := range all {
		if m.q.admits(x.Marker) {
			s.verdicts[x.Verdict]++
			if m.q.verdict == "" || x.Verdict == m.q.verdict {
				s.matching = append(s.matching, x)
			}
		}
	}
	s.matching = m.q.sorted(s.matching)
	return s
}

// paged fills the page from the last complete pass.
func (m markersPage) paged(v *templates.MarkersView) {
	from := m.selected()
	if m.q.state == marker.ProcessingList && from.listed > 0 {
		v.Verdicts = m.verdictTabs(from.verdicts)
	}
	v.Listed = m.listedText(from.listed, len(from.matching))
	shown, at := list.Cut(from.matching, markersPerPage, m.q.page)
	v.PageNote = at.Note
	for _, x := range shown {
		v.Rows = append(v.Rows, web.MarkerLine(x, m.base, m.offset(), m.now))
	}
	v.Pages = at.Links(func(n int) string {
		link := m.q
		link.page = n
		return link.address(m.path)
	})
	v.Empty = m.empty(from.listed)
	if from.listed > 0 {
		v.CSV, v.CSVText = m.csvLink(from.listed)
	}
	v.Act = m.actBar(len(from.matching))
}

// browsed fills the page from a live reading.
func (m markersPage) browsed(v *templates.MarkersView) {
	switch {
	case m.liveErr != nil:
		v.Notes = append(v.Notes, show.Problem(dedup.Severe, "These markers cannot be read: "+dedup.PublicText(m.liveErr), ""))
		v.Empty = templates.Empty{Heading: "Nothing could be read", Text: "The other lists are from the last complete pass.", Href: m.q.address(m.path), Link: "Try again"}
		v.Cost = "Read live, when asked for."
		return
	case m.live == nil:
		return // a live region that shows something else
	}
	for _, x := range m.live.Markers {
		x.Store = cmp.Or(x.Store, m.p.Pipeline.Store)
		v.Rows = append(v.Rows, web.MarkerLine(web.JudgedMarker{Marker: x}, m.base, m.offset(), m.now))
	}
	v.Listed = show.Counted(len(v.Rows), "marker") + " on this page"
	v.Cost = fmt.Sprintf("Read live at %s: %s looked at, in the order of the store's own walk.", show.Moment(m.live.At, m.now).Text, show.Counted(m.live.Examined, "key or row"))
	v.Cost = strings.Replace(v.Cost, "key or rows", "keys or rows", 1)
	v.Empty = templates.Empty{Heading: "None on this page", Text: "The part of the store that was looked at holds no such marker."}
	v.CSV, v.CSVText = m.csvLink(0)
	if m.live.Next != "" {
		next := m.q
		next.cursor = m.live.Next
		v.Next = next.address(m.path)
		v.Empty.Text += " Read on to look at the next part."
	}
}

func (m markersPage) offset() time.Duration {
	if m.st == nil || m.st.Stats.Pass == nil {
		return 0
	}
	return m.st.Stats.Pass.ClockOffset
}

// markers answers the page of the markers of one pipeline.
func (s *pages) markersOf(r *web.Request) (web.Response, error) {
	m, err := s.markersPage(r)
	if err != nil {
		return nil, err
	}
	frame := s.site.Frame(r, "Markers of "+show.ShortName(m.p.Pipeline.Name))
	if m.wrong != nil {
		return web.Page{Status: http.StatusBadRequest, Component: templates.Markers(m.view(frame))}, nil
	}
	if m.q.live() && r.Fragment != "status" {
		m.browse(s, r)
	}
	frame.Live = web.Live("pipeline:" + m.p.Pipeline.Name)
	return web.Page{Component: templates.Markers(m.view(frame))}, nil
}

// markersPage reads the address of a page of markers.
func (s *pages) markersPage(r *web.Request) (markersPage, error) {
	snap := s.deps.Snapshots.Snapshot()
	name := r.PathValue("name")
	p, ok := snap.Pipeline(name)
	if !ok {
		return markersPage{}, web.MissingPipeline(snap, name)
	}
	var q markersQuery
	wrong := list.Read(r.URL.Query(), q.params()...)
	m := markersPage{snap: snap, p: p, q: q, wrong: wrong, judge: s.deps.Judge, who: web.Reader{Masker: s.site.Masker, Who: r.Who}, now: r.Now(), base: s.site.Base, path: web.MarkersAddress(s.site.Base, url.PathEscape(name))}
	m.st, _ = snap.Store(p.Pipeline.Store)
	if !q.live() { // what is read now needs no word of what was done since a pass
		m.changed = s.changed(r, m.st)
	}
	m.missing = s.whyNoControls(r, p.Pipeline.Store)
	return m, nil
}

// changed asks what operations did since the last pass over a store began. Lists are shown without it when that is not known.
func (s *pages) changed(r *web.Request, st *dedup.StoreStatus) map[string]marker.Change {
	if s.deps.Markers == nil || st == nil || st.Stats.Pass == nil {
		return nil
	}
	changes, err := s.deps.Markers.Changed(r.Context(), r.Asker(), st.Name, st.Stats.Pass.Started)
	if err != nil {
		s.deps.Log.Warn("recent operations cannot be read", "request", r.ID, "store", st.Name, "err", err)
	}
	return changes
}

func (m *markersPage) browse(s *pages, r *web.Request) {
	service, err := s.service()
	if err != nil {
		m.liveErr = err
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), browseTimeout)
	defer cancel()
	got, err := service.Browse(ctx, r.Asker(), m.p.Pipeline.Store, dedup.MarkerQuery{
		State: dedup.State(m.q.state), Match: m.q.text, Cursor: m.q.cursor, Limit: markersPerPage,
	})
	if err != nil {
		m.liveErr = err
		return
	}
	for i := range got.Markers {
		got.Markers[i] = m.who.Masked(got.Markers[i], r.Who)
	}
	m.live = &got
}

// examined is how many markers the last complete pass found, which every count on the page comes from.
func (m markersPage) examined() templates.Figure {
	f := dedup.Unknown(dedup.Count, "no complete pass over the store yet")
	if m.st != nil && m.st.Stats.Pass != nil {
		pass := m.st.Stats.Pass
		if pass.Unfit() {
			return show.PipelineFigure(m.p, dedup.Unknown(dedup.Count, show.UnfitText(pass)), "unknown", m.now)
		}
		f = dedup.Exact(dedup.Measured, dedup.Count, float64(pass.Matched), pass.Ended, "the last complete pass over store "+show.Within(m.p.Pipeline.Store))
		f.Formula = "each key that matches, read once and decoded by the scheme"
		f.Why = "what changed since the pass is not in it; each count of a state on this page comes from it"
	}
	return show.PipelineFigure(m.p, f, "unknown", m.now)
}

// markerJudge gives the verdict on a processing marker with its reasons.
type markerJudge func(dedup.Marker, dedup.Evidence, dedup.Scheme) (dedup.Verdict, []string)

// of adds the verdict to a processing marker, from what the broker says of the pipelines of its store, and masks the marker
// for who asks.
func (judge markerJudge) of(m dedup.Marker, st *dedup.StoreStatus, who web.Reader) web.JudgedMarker {
	j := web.JudgedMarker{Marker: who.Masked(m, who.Who)}
	switch {
	case m.State != dedup.Processing:
	case judge == nil:
		j.Verdict = dedup.CannotTell
	default:
		j.Verdict, j.Reasons = judge(m, st.Evidence, st.Scheme)
	}
	return j
}

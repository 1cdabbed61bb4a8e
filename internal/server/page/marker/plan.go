package marker

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// planPerPage is how many markers of a plan a page shows.
const planPerPage = 100

// parsePlanForm reads what a list, a marker's page or an operation's page asks to plan. The button that was pressed says
// what to do and whether to take the selected markers or all that match.
func parsePlanForm(form url.Values) (marker.PlanRequest, error) {
	req := marker.PlanRequest{Store: form.Get("store"), AlsoRetry: form.Get("retry") == "1"}
	do := form.Get("do")
	switch do {
	case "clear-selected", "clear-all":
		req.Deed = admin.ClearMarkers
	case "clear-selected-retry":
		req.Deed, req.AlsoRetry, do = admin.ClearMarkers, true, "clear-selected"
	case "expire-selected", "expire-all":
		req.Deed, req.AlsoRetry = admin.SetExpiry, false
		ttl, err := chosenTTL(form)
		if err != nil {
			return req, err
		}
		req.TTL = ttl
	case "restore":
		req.Deed, req.Operation = admin.RestoreMarkers, form.Get("operation")
		return req, restoreItems(&req, form["item"])
	default:
		return req, list.Bad("do", "must be one of the buttons of the page")
	}
	if strings.HasSuffix(do, "-all") {
		req.Filter = &marker.MarkerFilter{List: marker.List(form.Get("list")), Verdict: dedup.Verdict(form.Get("verdict")), Match: form.Get("match")}
		return req, nil
	}
	for _, sel := range form["sel"] {
		key, err := web.DecodeKey(sel)
		if err != nil {
			return req, err
		}
		req.Keys = append(req.Keys, key)
	}
	if len(req.Keys) == 0 {
		return req, &web.Error{
			Status: http.StatusBadRequest, Kind: dedup.Invalid, Heading: "No marker was selected",
			Message: "Go back and tick the markers that you mean, or review all that match. Nothing was changed.",
		}
	}
	return req, nil
}

func restoreItems(req *marker.PlanRequest, items []string) error {
	for _, text := range items {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return list.Bad("item", "must be the number of an item")
		}
		req.Items = append(req.Items, n)
	}
	return nil
}

// makePlan freezes a selection and leads to its review.
func (s *pages) makePlan(r *web.Request) (web.Response, error) {
	req, err := parsePlanForm(r.PostForm)
	if err != nil {
		return nil, err
	}
	plan, err := s.deps.Markers.Plan(r.Context(), r.Asker(), req)
	if dedup.KindOf(err) == dedup.Unavailable {
		return s.silentStore(r, req.Store, err, resendPlan(s.site.Base+"/markers/plan", r.PostForm)), nil
	}
	if err != nil {
		return nil, err
	}
	return web.Redirect{To: s.planAddress(plan.ID)}, nil
}

func (s *pages) planAddress(id string) string {
	return s.site.Base + "/plans/" + url.PathEscape(id)
}

// plan answers the review page. A plan that was carried out leads to its operation.
func (s *pages) plan(r *web.Request) (web.Response, error) {
	plan, operation, err := s.deps.Markers.Planned(r.Context(), r.Asker(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if operation != "" {
		return web.Redirect{To: web.OperationAddress(s.site.Base, operation)}, nil
	}
	var number int
	if err := list.Read(r.URL.Query(), list.PageNumber(&number)); err != nil {
		return nil, err
	}
	return web.Page{Component: templates.Plan(s.planView(r, plan, number))}, nil
}

// planView is the review page of a plan.
func (s *pages) planView(r *web.Request, p marker.Plan, number int) templates.PlanView {
	now, snap, base := r.Now(), s.deps.Snapshots.Snapshot(), s.site.Base
	v := templates.PlanView{
		Frame: s.site.Frame(r, "Review"), Heading: "Review: " + show.LowerFirst(deedTitle(p)), Sentence: templates.Sentence(planSentence(p)),
		Crumbs: append(pipelineCrumbs(base, snap, p.Request.Store), show.Crumb("Review", "")),
		Action: s.planAddress(p.ID) + "/execute", Button: deedTitle(p), Confirm: p.Confirm, Key: rand.Text(), Notes: planNotes(p, now), Facts: planFacts(p, now),
		Back: base + "/",
	}
	if names := snap.PipelinesOf(p.Request.Store); len(names) > 0 {
		v.Back = web.MarkersAddress(base, names[0])
	}
	shown, at := list.Cut(p.Items, planPerPage, number)
	v.PageNote = at.Note
	v.LeftSum = leftSum(p)
	for i, item := range shown {
		v.Items = append(v.Items, s.planLine(p, at.First+i+1, item, now))
	}
	v.Evidence, v.Instead = shareEvidence(p, v.Items, now), s.clearInstead(p)
	v.Pages = at.Links(list.Numbered(s.planAddress(p.ID)))
	v.Shown = show.Counted(len(p.Items), "marker")
	v.LeftOut = leftLines(p, now)
	return v
}

// shareEvidence takes the reasons that every marker of the plan with the same verdict has out of the lines, to be said
// once: what tells the markers apart is then easy to see.
func shareEvidence(p marker.Plan, lines []templates.PlanLine, now time.Time) []templates.PlanEvidence {
	var shared []templates.PlanEvidence
	for _, verdict := range dedup.Verdicts() {
		counts, n := map[string]int{}, 0
		var first []string
		for _, item := range p.Items {
			if item.Verdict != verdict {
				continue
			}
			if n++; n == 1 {
				first = item.Reasons
			}
			for _, reason := range item.Reasons {
				counts[reason]++
			}
		}
		e := templates.PlanEvidence{Verdict: string(verdict), Count: n}
		common := map[templates.Text]bool{}
		for _, reason := range first {
			if t := templates.Sentence(show.ReadableTimes(reason, now)); n > 1 && counts[reason] == n && !common[t] {
				common[t] = true
				e.Reasons = append(e.Reasons, t)
			}
		}
		if len(e.Reasons) == 0 {
			continue
		}
		shared = append(shared, e)
		for i := range lines {
			if lines[i].Line.Verdict == string(verdict) {
				lines[i].Reasons = slices.DeleteFunc(lines[i].Reasons, func(t templates.Text) bool { return common[t] })
			}
		}
	}
	return shared
}

func (s *pages) planLine(p marker.Plan, number int, item marker.PlanItem, now time.Time) templates.PlanLine {
	seen := item.Seen
	if seen.Store == "" {
		seen.Store = p.Request.Store
	}
	m := web.JudgedMarker{Marker: seen.Marker, Verdict: item.Verdict, Reasons: item.Reasons}
	return templates.PlanLine{
		Number: number, Line: web.MarkerLine(m, s.site.Base, web.ClockOffset(seen), seenAt(seen, now)), State: string(seen.State), Seen: seenText(item, now),
		Reasons: show.Texts(item.Reasons, now), Effect: templates.Sentence(show.ReadableTimes(show.Capital(item.Effect), now) + blockedUntil(p, item, now)),
	}
}

// seenText is what a marker was when the plan was made.
func seenText(item marker.PlanItem, now time.Time) string {
	text := "seen " + string(item.Seen.State)
	if item.Seen.Type != "" {
		text += ", a " + item.Seen.Type
	}
	if item.Size > 0 {
		text += " of " + show.Counted(item.Size, "byte")
	}
	if item.Seen.Retry != nil {
		text += ", retry counter " + item.Seen.Retry.Value
	}
	return templates.Sentence(text).Short
}

func planFacts(p marker.Plan, now time.Time) []templates.Fact {
	facts := show.Facts{
		{Label: "Made", Value: show.Moment(p.Made, now).Text + " by " + show.ShortName(p.By)},
		{Label: "Holds until", Value: show.Moment(p.Made.Add(admin.PlanLife), now).Text},
	}
	if p.Takes > 0 {
		facts.Add("Takes about", templates.Span(max(time.Second, p.Takes)))
	}
	if f := p.Request.Filter; f != nil {
		facts.Add("Selected", filterText(*f))
	}
	if p.Request.AlsoRetry {
		facts.Add("Retry counters", "are cleared along")
	}
	return facts
}

func filterText(f marker.MarkerFilter) string {
	text := "all " + tabName(f.List)
	if f.Verdict != "" {
		text += ", " + string(f.Verdict)
	}
	if f.Match != "" {
		text += ", with “" + f.Match + "”"
	}
	return templates.Sentence(text).Short
}

func planNotes(p marker.Plan, now time.Time) []templates.Problem {
	var notes []templates.Problem
	say := func(tier dedup.Tier, text, remedy string) {
		notes = append(notes, show.Problem(tier, text, remedy))
	}
	if p.Truncated > 0 {
		say(dedup.Warning, templates.Number(p.Truncated)+" more match than one plan takes.", "Carry this one out, then make another for the rest.")
	}
	if n, ttl := stillBlocked(p); n > 0 {
		say(dedup.Warning, show.Counted(n, "processing marker")+" of these "+show.Plural(n, "goes", "go")+" on holding "+show.Plural(n, "its message", "their messages")+
			" back: still blocked until "+show.Moment(now.Add(ttl), now).Text+" if this is carried out now.", "")
	}
	if p.Request.Deed == admin.ClearMarkers {
		say(dedup.TierUnknown, "Each marker is cleared only if it is still exactly as it was seen; one that has changed is left alone. "+undoableText(p, now), "")
	}
	return notes
}

// undoableText says until when clearing can be undone: a marker that has expired is not brought back.
func undoableText(p marker.Plan, now time.Time) string {
	const kept = 7 * 24 * time.Hour
	var first time.Time
	n := 0
	for _, it := range p.Items {
		if it.Seen.Expires.IsZero() {
			continue
		}
		at := it.Seen.Expires.Add(-web.ClockOffset(it.Seen))
		if at.Sub(now) >= kept {
			continue
		}
		if n++; first.IsZero() || at.Before(first) {
			first = at
		}
	}
	until := show.Moment(first, now).Text
	switch {
	case n == 0:
		return "Its value is kept for 7 days, and clearing can be undone until then."
	case len(p.Items) == 1:
		return "Clearing can be undone until " + until + ", when the marker would have expired by itself."
	case n == len(p.Items):
		return "Clearing each can be undone until it would have expired by itself, the first at " + until + "."
	default:
		return "Its value is kept for 7 days, and clearing can be undone until then; of " + show.Counted(n, "marker") + " only until it would have expired by itself, the first at " + until + "."
	}
}

// execute carries a plan out and leads to the operation.
func (s *pages) execute(r *web.Request) (web.Response, error) {
	req := marker.ExecuteRequest{PlanID: r.PathValue("id"), Reason: strings.TrimSpace(r.PostForm.Get("reason")), Confirm: strings.TrimSpace(r.PostForm.Get("confirm")), Token: r.PostForm.Get("key")}
	operation, err := s.deps.Markers.Execute(r.Context(), r.Asker(), req)
	if err == nil {
		return web.Redirect{To: web.OperationAddress(s.site.Base, operation)}, nil
	}
	if dedup.KindOf(err) != dedup.Invalid {
		return nil, err
	}
	// A missing reason or a typing mistake: the same page again, with what was entered.
	plan, done, again := s.deps.Markers.Planned(r.Context(), r.Asker(), req.PlanID)
	if again != nil || done != "" {
		return nil, err
	}
	v := s.planView(r, plan, 1)
	v.Reason, v.Typed, v.Error = show.Clean(req.Reason, 500), show.Clean(req.Confirm, 200), show.ErrorText(err)
	return web.Page{Status: http.StatusUnprocessableEntity, Component: templates.Plan(v)}, nil
}

// deedTitle says what a plan does, as a heading and a button: "Clear 12 markers".
func deedTitle(p marker.Plan) string {
	n := show.Counted(len(p.Items), "marker")
	switch p.Request.Deed {
	case admin.SetExpiry:
		return "Set an expiry on " + n
	case admin.RestoreMarkers:
		return "Restore " + n
	default:
		return "Clear " + n
	}
}

// planSentence says a plan in one sentence: "Clear 12 markers of store orders: 10 probably dead, 2 orphan."
func planSentence(p marker.Plan) string {
	if len(p.Items) == 0 {
		return "The plan touches no marker of store " + p.Request.Store + ", and cannot be carried out."
	}
	text := deedTitle(p) + " of store " + p.Request.Store
	if p.Request.Deed == admin.SetExpiry {
		text += ", " + ttlText(p) + " from when it is set"
	}
	counts := map[string]int{}
	for _, item := range p.Items {
		word := string(item.Verdict)
		if word == "" {
			word = string(item.Seen.State)
		}
		counts[word]++
	}
	var parts []string
	for _, word := range planWords() {
		if n := counts[word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", templates.Number(n), word))
		}
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text + "."
}

func planWords() []string {
	var words []string
	for _, v := range dedup.Verdicts() {
		words = append(words, string(v))
	}
	for _, state := range dedup.States() {
		words = append(words, string(state))
	}
	return words
}

package marker

import (
	"fmt"
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

const (
	// operationsListed is how many operations the list shows.
	operationsListed = 100
	// nowFollowed is how long the page of an operation that has ended goes on reading what is there now, every nowRefresh seconds: a message
	// that waited for its marker to go is done within seconds mostly.
	nowFollowed = 2 * time.Minute
	nowRefresh  = 5
)

// operation answers the page of one operation. While it runs, the page follows it: by the stream of hints, or without the
// script by loading itself again.
func (s *pages) operation(r *web.Request) (web.Response, error) {
	o, err := s.deps.Markers.Operation(r.Context(), r.Asker(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	var number int
	if err := list.Read(r.URL.Query(), list.PageNumber(&number)); err != nil {
		return nil, err
	}
	return web.Page{Component: templates.Operation(s.operationView(r, o, number))}, nil
}

func (s *pages) operationView(r *web.Request, o marker.Operation, number int) templates.OperationView {
	now, snap, base := r.Now(), s.deps.Snapshots.Snapshot(), s.site.Base
	v := templates.OperationView{
		Self: web.OperationAddress(s.site.Base, o.ID), Running: o.Ended.IsZero(), Total: len(o.Plan.Items),
		Sentence: templates.Sentence(planSentence(o.Plan)), Totals: totals(o),
		Crumbs: append(pipelineCrumbs(base, snap, o.Plan.Request.Store),
			show.Crumb("Operations", base+"/operations")),
	}
	for _, out := range o.Outcomes {
		if !out.At.IsZero() {
			v.Done++
		}
	}
	v.Heading = operationHeading(o, v.Done)
	v.Frame = s.site.Frame(r, v.Heading)
	switch {
	case v.Running:
		v.Frame.Live, v.Frame.Refresh = web.Live("operation:"+o.ID), 2
	case now.Sub(o.Ended) < nowFollowed:
		v.Frame.Live, v.Frame.Refresh = web.Live("operation:"+o.ID), nowRefresh
	}
	v.Facts, v.Notes = s.operationFacts(o, now), operationNotes(o)
	v.LeftSum, v.LeftOut = leftSum(o.Plan), leftLines(o.Plan, now)
	v.Audit = web.AuditAddress(base, o.ID)
	shown, at := list.Cut(o.Plan.Items, marker.MaxNow, number)
	v.PageNote, v.Pages = at.Note, at.Links(list.Numbered(v.Self))
	present := s.present(r, o, at.First, at.First+len(shown))
	v.NowMissing = templates.Sentence(present.missing)
	if len(present.known) > 0 {
		v.NowAt = show.Moment(now, now)
	}
	v.Undo = s.undoView(r, o, present, now)
	for i := range shown {
		v.Items = append(v.Items, s.outcomeLine(o, at.First+i, present, now))
	}
	return v
}

func operationHeading(o marker.Operation, done int) string {
	switch {
	case o.Ended.IsZero() && o.Plan.Request.Deed == admin.RestoreMarkers:
		return "Restoring " + show.Counted(len(o.Plan.Items), "marker")
	case o.Ended.IsZero() && o.Plan.Request.Deed == admin.SetExpiry:
		return "Setting an expiry on " + show.Counted(len(o.Plan.Items), "marker")
	case o.Ended.IsZero():
		return "Clearing " + show.Counted(len(o.Plan.Items), "marker")
	}
	good := 0
	for _, out := range o.Outcomes {
		if succeeded(out.Outcome.Result) {
			good++
		}
	}
	return fmt.Sprintf("%s %d of %s", pastWord(o.Plan.Request.Deed), good, show.Counted(len(o.Plan.Items), "marker"))
}

func succeeded(r dedup.Result) bool {
	return r == dedup.Cleared || r == dedup.ExpirySet || r == dedup.Restored
}

func pastWord(d admin.Deed) string {
	switch d {
	case admin.SetExpiry:
		return "Set an expiry on"
	case admin.RestoreMarkers:
		return "Restored"
	default:
		return "Cleared"
	}
}

// results are the results in the order in which pages count them.
func results() []dedup.Result {
	return []dedup.Result{
		dedup.Cleared, dedup.ExpirySet, dedup.Restored, dedup.UnknownOutcome, dedup.Refused, dedup.NotDone, dedup.Changed, dedup.Gone,
	}
}

// untouched counts the items that were found changed or gone, and so left alone.
func untouched(counts map[dedup.Result]int) int { return counts[dedup.Changed] + counts[dedup.Gone] }

func resultCounts(o marker.Operation) map[dedup.Result]int {
	counts := map[dedup.Result]int{}
	for _, out := range o.Outcomes {
		counts[out.Outcome.Result]++
	}
	return counts
}

func totals(o marker.Operation) []templates.Total {
	counts := resultCounts(o)
	var list []templates.Total
	for _, r := range results() {
		if counts[r] > 0 {
			list = append(list, templates.Total{Result: string(r), Count: counts[r]})
		}
	}
	return list
}

func (s *pages) operationFacts(o marker.Operation, now time.Time) []templates.Fact {
	facts := show.Facts{
		{Label: "Reason", Value: templates.Sentence(o.Reason).Short}, {Label: "By", Value: show.ShortName(o.By)},
		{Label: "Started", Value: show.Moment(o.Started, now).Full},
	}
	if !o.Ended.IsZero() {
		facts.Add("Took", templates.Latency(o.Ended.Sub(o.Started).Seconds()))
	}
	return facts
}

func operationNotes(o marker.Operation) []templates.Problem {
	var notes []templates.Problem
	say := func(tier dedup.Tier, text, remedy string) {
		notes = append(notes, show.Problem(tier, text, remedy))
	}
	if !o.Ended.IsZero() && len(o.Outcomes) > 0 && untouched(resultCounts(o)) == len(o.Plan.Items) {
		say(dedup.TierUnknown, "Nothing was changed: "+show.Plural(len(o.Plan.Items), "the marker was", "the markers were")+" not there any more as reviewed.", "")
	}
	if o.Interrupted {
		say(dedup.Severe, "The dashboard ended in the middle of this. What has no result was not begun, except where the outcome is unknown.", "Look at those markers, then review the rest again.")
	}
	if o.Stopped != "" {
		say(dedup.Severe, "It was stopped before its end: "+show.EndSentence(o.Stopped), "What has no result was not begun.")
	}
	for _, out := range o.Outcomes {
		if out.Outcome.Result == dedup.UnknownOutcome {
			say(dedup.Severe, "Of some markers the outcome is unknown: the connection was lost in the act, and reading them again could not tell.", "Open each of them and see what is there now.")
			break
		}
	}
	return notes
}

func (s *pages) outcomeLine(o marker.Operation, i int, p present, now time.Time) templates.OutcomeLine {
	item := o.Plan.Items[i]
	l := templates.OutcomeLine{
		Number: i + 1, ID: show.Key(web.ShownID(item.Seen.Marker)), Href: web.MarkerAddress(s.site.Base, o.Plan.Request.Store, item.Seen.Key),
		Word: "not begun", Now: p.text(i, now),
	}
	for _, out := range o.Outcomes {
		if out.Item != i {
			continue
		}
		l.Result, l.At = string(out.Outcome.Result), show.Moment(out.At, now)
		l.Text = templates.Sentence(show.ReadableTimes(show.Capital(out.Outcome.Text), now))
		if out.Begun && out.At.IsZero() {
			l.Word = "under way"
		}
		if o.Undone == "" && out.Restorable.After(now) && !p.there(i) {
			l.Restorable = "can be restored until " + show.Moment(out.Restorable, now).Text
		}
	}
	return l
}

// undoView offers to restore what was cleared, where something can be restored, and else says why nothing can.
func (s *pages) undoView(r *web.Request, o marker.Operation, p present, now time.Time) templates.UndoView {
	switch {
	case o.Undone != "":
		return templates.UndoView{Undone: web.OperationAddress(s.site.Base, o.Undone)}
	case o.Ended.IsZero():
		return templates.UndoView{}
	case o.Plan.Request.Deed != admin.ClearMarkers:
		return templates.UndoView{Missing: templates.Sentence("Only a clear can be undone.")}
	}
	var until time.Time
	n, again, over := 0, 0, 0
	for _, out := range o.Outcomes {
		switch {
		case out.Restorable.IsZero():
		case !out.Restorable.After(now):
			over++
		case p.there(out.Item):
			again++
		default:
			n++
			if until.IsZero() || out.Restorable.Before(until) {
				until = out.Restorable
			}
		}
	}
	if n == 0 {
		return templates.UndoView{Missing: templates.Sentence(whyNoUndo(again, over))}
	}
	if p.missing != "" {
		return templates.UndoView{Missing: templates.Sentence("It can be undone until " + show.Moment(until, now).Text + ", as soon as the store answers.")}
	}
	if why := s.whyNoControls(r, o.Plan.Request.Store); why != "" {
		return templates.UndoView{Missing: templates.Sentence("It can be undone until " + show.Moment(until, now).Text + ". " + why)}
	}
	return templates.UndoView{Action: s.site.Base + "/markers/plan", Store: o.Plan.Request.Store, Operation: o.ID, Until: show.Moment(until, now).Text, Count: n}
}

// operations answers the list of recent operations.
func (s *pages) operations(r *web.Request) (web.Response, error) {
	v := templates.OperationsView{Frame: s.site.Frame(r, "Operations"), Empty: templates.Empty{
		Heading: "Nothing was done yet", Text: "Clearing markers, setting expiries and undoing appear here. It begins at the markers of a pipeline.",
	}}
	list, err := s.deps.Markers.Operations(r.Context(), r.Asker(), operationsListed)
	if err != nil {
		return nil, err
	}
	now := r.Now()
	for _, o := range list {
		v.Rows = append(v.Rows, s.operationLine(o, now))
	}
	return web.Page{Component: templates.Operations(v)}, nil
}

func (s *pages) operationLine(o marker.OperationSummary, now time.Time) templates.OperationLine {
	l := templates.OperationLine{
		Href: web.OperationAddress(s.site.Base, o.ID), By: show.Name(o.By), Reason: templates.Sentence(o.Reason), Started: show.Moment(o.Started, now),
		Title: templates.Sentence(listedTitle(o) + " of " + o.Store), Word: "ended", Tier: dedup.Normal.String(),
	}
	good := 0
	var parts []string
	for _, r := range results() {
		if n := o.Results[r]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, r))
			if succeeded(r) {
				good += n
			}
		}
	}
	l.Results = strings.Join(parts, ", ")
	switch {
	case o.Undone != "":
		l.Word, l.Tier = "undone", dedup.TierUnknown.String()
	case o.Interrupted:
		l.Word, l.Tier = "interrupted", dedup.Severe.String()
	case o.Ended.IsZero():
		l.Word, l.Tier = "running", dedup.TierUnknown.String()
	case o.Results[dedup.UnknownOutcome] > 0:
		l.Word, l.Tier = "outcome unknown", dedup.Severe.String()
	case untouched(o.Results) == o.Items:
		l.Word, l.Tier = "nothing changed", dedup.TierUnknown.String()
	case good == 0:
		l.Word, l.Tier = "nothing done", dedup.Warning.String()
	case good < o.Items:
		l.Word, l.Tier = "in part", dedup.Warning.String()
	default:
		l.Word = "done"
	}
	return l
}

func listedTitle(o marker.OperationSummary) string {
	n := show.Counted(o.Items, "marker")
	switch o.Deed {
	case admin.SetExpiry:
		return "Set an expiry on " + n
	case admin.RestoreMarkers:
		return "Restore " + n
	default:
		return "Clear " + n
	}
}

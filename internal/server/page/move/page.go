package move

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// parseMoveForm reads what a list or a letter's page asks to plan. The button that was pressed says what to do, and with which
// messages.
// Times in its filter are read in the zone of now.
func parseMoveForm(form url.Values, now time.Time) (move.Request, error) {
	req := move.Request{Pipeline: form.Get("pipeline"), Queue: form.Get("queue"), Scan: form.Get("scan")}
	if strings.HasPrefix(form.Get("do"), "requeue-") {
		req.Target = form.Get("target")
	}
	if !web.IsPipeline(req.Pipeline) {
		return req, web.NoPipeline(req.Pipeline)
	}
	if req.Queue == "" || len(req.Queue) > web.MaxRef || len(req.Scan) > web.MaxRef {
		return req, list.Bad("queue", "must name one, with at most 255 bytes")
	}
	verb, which, _ := strings.Cut(form.Get("do"), "-")
	switch verb {
	case "requeue":
		req.Do = admin.Requeue
	case "discard":
		req.Do = admin.Discard
	case "restore":
		req.Do = admin.RestoreLetters
	default:
		return req, list.Bad("do", "must be one of the buttons of the page")
	}
	var err error
	switch which {
	case "selected":
		req.Refs, err = selectedRefs(form)
	case "all":
		var filter deadletter.Filter
		filter, err = deadletter.ParseFilter(form.Get("filter"), now)
		req.Filter, req.Whole = filter.String(), filter.Empty()
	case "first": // the look says which they are
	case "whole", "head": // of the head an operator may take some, of whatever nobody has looked at
		req.Whole = true
	default:
		return req, list.Bad("do", "must be one of the buttons of the page")
	}
	if req.Whole {
		req.Scan = ""
	}
	if err != nil {
		return req, err
	}
	if req.Do == admin.Requeue {
		req.Canary = move.PresetCanary
	}
	req.Most, err = letter.Most(form, 0)
	return req, err
}

// selectedRefs are the messages that were ticked.
func selectedRefs(form url.Values) ([]string, error) {
	for _, ref := range form["sel"] {
		if ref == "" || len(ref) > web.MaxRef {
			return nil, list.Bad("sel", "must be the reference of a message")
		}
	}
	if len(form["sel"]) == 0 {
		return nil, &web.Error{
			Status: http.StatusBadRequest, Kind: dedup.Invalid, Heading: "No message was selected",
			Message: "Go back and tick the messages that you mean, or preview all that match. Nothing was moved.",
		}
	}
	return slices.Clone(form["sel"]), nil
}

// planMove freezes a selection and leads to its review.
func (s pages) planMove(r *web.Request) (web.Response, error) {
	req, err := parseMoveForm(r.PostForm, r.Now())
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(r.PostForm.Get("do"), "-first") {
		if req.Refs, err = s.firstRefs(r, req, r.PostForm.Get("filter")); err != nil {
			return nil, err
		}
	}
	if r.PostForm.Get("do") == "requeue-head" && req.Most == 0 {
		view, err := s.letters.Queue(r.Context(), r.Asker(), req.Pipeline, req.Queue)
		if err != nil {
			return nil, err
		}
		req.Most = int64(view.OperatorLimit)
	}
	return s.planner().Plan(r, req)
}

// changeMove plans again with other choices: a plan itself never changes.
func (s pages) changeMove(r *web.Request) (web.Response, error) {
	plan, job, err := s.letters.PlannedMove(r.Context(), r.Asker(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if job != "" {
		return web.Redirect{To: web.KeepZone(r, letter.JobAddress(s.site.Base, job))}, nil
	}
	req, err := changedMove(plan, r.PostForm)
	if err != nil {
		return nil, err
	}
	again, err := s.letters.PlanMove(r.Context(), r.Asker(), req)
	if err != nil {
		return nil, err
	}
	return web.Redirect{To: web.KeepZone(r, letter.MoveAddress(s.site.Base, again.ID))}, nil
}

// changedMove is the request of a plan with the choices of a form, and with the edit of the plan.
func changedMove(plan move.Plan, form url.Values) (move.Request, error) {
	req, _, err := chosenMove(plan, form)
	switch {
	case err != nil:
		return req, err
	case plan.Edited != nil:
		req.Edit = &plan.Edited.Edit
	case plan.IDChange != "": // without its edit, the message as it was would be planned
		return req, web.Conflict("The edit of this message is not at hand: it is kept in memory alone, and for admins. Make the edit again")
	}
	return req, nil
}

// chosenMove is the request of a plan with the choices of a form, and whether they differ from what the review of the plan shows. What
// stands by default is sent along with the form and is not taken for a choice: only somebody who chose that messages of unknown class
// are sent means to go on when the store falls silent.
func chosenMove(plan move.Plan, form url.Values) (req move.Request, differs bool, err error) {
	req = plan.Request
	req.Choices = map[preflight.Class]preflight.Choice{}
	if req.Do == admin.Requeue { // no consumer sees what is discarded or restored
		maps.Copy(req.Choices, plan.Request.Choices)
	}
	for _, c := range preflight.Classes() {
		chosen := preflight.Choice(form.Get("choice-" + string(c)))
		if chosen == "" || chosen == cmp.Or(plan.Choices[c], preflight.KeepAsIs) {
			continue
		}
		if !slices.Contains([]preflight.Choice{preflight.KeepAsIs, preflight.ClearFirst, preflight.LeaveOut}, chosen) {
			return req, true, list.Bad("choice-"+string(c), "must be keep, clear_first or leave_out")
		}
		req.Choices[c], differs = chosen, true
	}
	if req.Canary, err = letter.WholeNumber(form, "canary", req.Canary, 0, deadletter.MaxScan); err != nil {
		return req, true, err
	}
	if req.Most, err = letter.Most(form, req.Most); err != nil {
		return req, true, err
	}
	req.Rate, err = rateOf(form, req.Rate)
	was := plan.Request
	return req, differs || req.Canary != was.Canary || req.Most != was.Most || shownRate(req.Rate) != shownRate(was.Rate), err
}

// rateOf reads the most messages per second of a form: -1 for no limit, and fractions of one, which a program may have asked for.
func rateOf(form url.Values, otherwise float64) (float64, error) {
	text := form.Get("rate")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n > 100_000 || n < 0 && n != -1 {
		return 0, list.Bad("rate", "must be a number from 0 to 100000, or -1 for no limit")
	}
	return n, nil
}

// unstarted leads to the review: whoever loads the address of a start again, which a refused one leaves in the browser, means that.
func (s pages) unstarted(r *web.Request) (web.Response, error) {
	return web.Redirect{To: web.KeepZone(r, letter.MoveAddress(s.site.Base, r.PathValue("id")))}, nil
}

// move answers the review page. A plan that was started leads to its job.
func (s pages) move(r *web.Request) (web.Response, error) {
	plan, job, err := s.letters.PlannedMove(r.Context(), r.Asker(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if job != "" {
		return web.Redirect{To: web.KeepZone(r, letter.JobAddress(s.site.Base, job))}, nil
	}
	return web.Page{Component: templates.Move(s.moveView(r, plan))}, nil
}

// moveView is the review page of a plan.
func (s pages) moveView(r *web.Request, p move.Plan) templates.MoveView {
	now, base := r.Now(), s.site.Base
	v := templates.MoveView{
		Frame: s.site.Frame(r, "Review"), Heading: "Review: " + show.LowerFirst(letter.Title(p)), Sentence: templates.Sentence(letter.Sentence(p)), Facts: moveFacts(p, now),
		Crumbs: append(letter.Crumbs(base, p.Request.Pipeline, p.Request.Queue), show.Crumb("Review", "")),
		Change: web.KeepZone(r, letter.MoveAddress(base, p.ID)+"/change"), Action: web.KeepZone(r, letter.MoveAddress(base, p.ID)+"/start"), Button: letter.Title(p), Confirm: p.Confirm, Key: rand.Text(),
		Back: letter.QueueAddress(base, p.Request.Pipeline, p.Request.Queue), Requeues: p.Request.Do == admin.Requeue, Classes: moveClasses(p),
		Canaries: canaryChoices(p), Rates: rateChoices(p), Targets: targetLines(p), Sample: s.sample(p), Undo: show.Texts(undoWords(p), now), Missing: templates.Sentence(letter.WhyNot(r, s.site, s.letters, p.Request.Pipeline)),
	}
	if p.Edited != nil {
		v.Heading, v.Button, v.Diff = "Review: requeue 1 edited message", "Requeue 1 edited message", diffOf(p.Edited.Edit, p.Edited.Was, p)
	}
	if p.Request.Do == admin.RestoreLetters {
		v.Back = letter.ParkingAddress(base, p.Request.Pipeline, p.Request.Queue)
	}
	if len(p.Letters) > 0 {
		v.CSV = letter.MoveAddress(base, p.ID) + "/keys.csv"
	}
	for _, g := range p.Guards {
		tier := dedup.Warning
		if g.Blocking {
			tier, v.Blocked = dedup.Severe, true
		}
		problem := show.Problem(tier, show.WholeSentence(g.Text), "")
		if g.Job != "" {
			problem.Href, problem.Link = web.KeepZone(r, letter.JobAddress(base, g.Job)), "Look at the job"
		}
		v.Guards = append(v.Guards, problem)
	}
	v.Back = web.KeepZone(r, v.Back)
	for i := range v.Crumbs {
		if v.Crumbs[i].Href != "" {
			v.Crumbs[i].Href = web.KeepZone(r, v.Crumbs[i].Href)
		}
	}
	v.Danger, v.Foretold = moveDanger(p), foretoldWords(p, now)
	v.NoClear, v.NoChange = allowedChoices(r.Who, v.Classes), mayPlanAgain(r, p)
	if v.Missing.Short == "" && !r.Who.Can(p.Needs) {
		v.Missing = templates.Sentence(r.NeedsRole("Starting this", p.Needs) + " Whoever has it can open this page and start it.")
	}
	if p.IDChange != "" && v.Diff == nil {
		v.Guards = append(v.Guards, show.Problem(dedup.TierUnknown, show.WholeSentence(p.IDChange), ""))
	}
	if n, known := p.Fits(); known && n > 0 {
		v.Fit = s.fewerForm(r, p, n)
	}
	if v.Blocked && v.Fit == nil && v.NoChange == "" { // what blocked it when the plan was made may be over
		v.Again = &templates.FormAgain{Action: v.Change, Label: "Check again"}
	}
	return v
}

// fewerForm plans the same move of fewer messages.
func (s pages) fewerForm(r *web.Request, p move.Plan, n int64) *templates.FormAgain {
	return &templates.FormAgain{Action: web.KeepZone(r, letter.MoveAddress(s.site.Base, p.ID)+"/change"), Label: letter.FewerWord(n), Fields: []templates.FormField{{Name: "most", Value: strconv.FormatInt(n, 10)}}}
}

// moveKeysCSV answers with the business keys that a plan touches.
func (s pages) moveKeysCSV(r *web.Request) (web.Response, error) {
	p, _, err := s.letters.PlannedMove(r.Context(), r.Asker(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	table := list.NewTable("affected-keys-"+p.Request.Pipeline+".csv", []list.Column[move.PlannedLetter]{
		{Head: "id", Cell: func(l move.PlannedLetter) string { return templates.Escape(l.ID) }},
		{Head: "business_key", Cell: func(l move.PlannedLetter) string { return templates.Escape(l.BusinessKey) }},
		{Head: "target", Cell: func(l move.PlannedLetter) string { return templates.Escape(l.Target) }},
		{Head: "class", Cell: func(l move.PlannedLetter) string { return string(l.Prediction.Class) }},
		{Head: "choice", Cell: func(l move.PlannedLetter) string { return string(l.Choice) }},
		{Head: "what_will_happen", Cell: func(l move.PlannedLetter) string { return letterEffect(p.Request.Do, l) }},
		{Head: "bytes", Cell: func(l move.PlannedLetter) string { return list.Whole(l.Bytes) }},
		{Head: "ref", Cell: func(l move.PlannedLetter) string { return l.Ref }},
	}, p.Letters)
	if more := p.Matching - len(p.Letters); more > 0 {
		table.Notes = []string{fmt.Sprintf("%s more %s selected and not listed", templates.Number(more), show.Plural(more, "is", "are"))}
	}
	return web.CSV{Table: table}, nil
}

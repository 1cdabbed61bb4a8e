package server

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// parseMoveForm reads what a list or a letter's page asks to plan. The button that was pressed says what to do, and with which
// messages.
func parseMoveForm(form url.Values) (admin.MoveRequest, error) {
	req := admin.MoveRequest{Pipeline: form.Get("pipeline"), Queue: form.Get("queue"), Scan: form.Get("scan")}
	if strings.HasPrefix(form.Get("do"), "requeue-") {
		req.Target = form.Get("target")
	}
	if !validPipeline.MatchString(req.Pipeline) {
		return req, noPipeline(req.Pipeline)
	}
	if req.Queue == "" || len(req.Queue) > maxRef || len(req.Scan) > maxRef {
		return req, badParameter("queue", "must name one, with at most 255 bytes")
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
		return req, badParameter("do", "must be one of the buttons of the page")
	}
	var err error
	switch which {
	case "selected":
		req.Refs, err = selectedRefs(form)
	case "all":
		var filter admin.Filter
		filter, err = admin.ParseFilter(form.Get("filter"))
		req.Filter, req.Whole = filter.String(), filter.Empty()
	case "first": // the look says which they are
	case "whole":
		req.Whole = true
	default:
		return req, badParameter("do", "must be one of the buttons of the page")
	}
	if req.Whole {
		req.Scan = ""
	}
	return req, err
}

// selectedRefs are the messages that were ticked.
func selectedRefs(form url.Values) ([]string, error) {
	for _, ref := range form["sel"] {
		if ref == "" || len(ref) > maxRef {
			return nil, badParameter("sel", "must be the reference of a message")
		}
	}
	if len(form["sel"]) == 0 {
		return nil, &httpError{
			status: http.StatusBadRequest, kind: dedup.Invalid, heading: "No message was selected",
			message: "Go back and tick the messages that you mean, or preview all that match. Nothing was moved.",
		}
	}
	return slices.Clone(form["sel"]), nil
}

// planMove freezes a selection and leads to its review.
func (s *Server) planMove(r *request) (response, error) {
	if err := r.ParseForm(); err != nil {
		return nil, formError(err)
	}
	req, err := parseMoveForm(r.PostForm)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(r.PostForm.Get("do"), "-first") {
		service, err := s.letters()
		if err != nil {
			return nil, err
		}
		if req.Refs, err = s.firstRefs(r, service, req, r.PostForm.Get("filter")); err != nil {
			return nil, err
		}
	}
	return s.planned(r, req)
}

func (s *Server) planned(r *request, req admin.MoveRequest) (response, error) {
	service, err := s.letters()
	if err != nil {
		return nil, err
	}
	plan, err := service.PlanMove(r.Context(), r.asker(), req)
	if err != nil {
		return nil, err
	}
	return redirect{moveAddress(s.cfg.base(), plan.ID)}, nil
}

// changeMove plans again with other choices: a plan itself never changes.
func (s *Server) changeMove(r *request) (response, error) {
	if err := r.ParseForm(); err != nil {
		return nil, formError(err)
	}
	service, err := s.letters()
	if err != nil {
		return nil, err
	}
	plan, job, err := service.PlannedMove(r.Context(), r.asker(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if job != "" {
		return redirect{jobAddress(s.cfg.base(), job)}, nil
	}
	req, err := changedMove(plan, r.PostForm)
	if err != nil {
		return nil, err
	}
	again, err := service.PlanMove(r.Context(), r.asker(), req)
	if err != nil {
		return nil, err
	}
	return redirect{moveAddress(s.cfg.base(), again.ID)}, nil
}

// changedMove is the request of a plan with the choices of a form. What stands by default is sent along with the form and is not
// taken for a choice: only somebody who chose that messages of unknown class are sent means to go on when the store falls silent.
func changedMove(plan admin.MovePlan, form url.Values) (admin.MoveRequest, error) {
	req := plan.Request
	switch {
	case plan.Edited != nil:
		req.Edit = &plan.Edited.Edit
	case plan.IDChange != "": // without its edit, the message as it was would be planned
		return req, conflict("The edit of this message is not at hand: it is kept in memory alone, and for admins. Make the edit again")
	}
	req.Choices = map[admin.Class]admin.Choice{}
	if req.Do == admin.Requeue { // no consumer sees what is discarded or restored
		maps.Copy(req.Choices, plan.Request.Choices)
	}
	for _, c := range admin.Classes() {
		chosen := admin.Choice(form.Get("choice-" + string(c)))
		if chosen == "" || chosen == plan.Choices[c] {
			continue
		}
		if !slices.Contains([]admin.Choice{admin.KeepAsIs, admin.ClearFirst, admin.LeaveOut}, chosen) {
			return req, badParameter("choice-"+string(c), "must be keep, clear_first or leave_out")
		}
		req.Choices[c] = chosen
	}
	canary, err := wholeNumber(form, "canary", req.Canary, 0, admin.MaxScan)
	if err != nil {
		return req, err
	}
	rate, err := wholeNumber(form, "rate", int(req.Rate), -1, 100_000)
	req.Canary, req.Rate = canary, float64(rate)
	return req, err
}

func wholeNumber(form url.Values, name string, otherwise, least, most int) (int, error) {
	text := form.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, badParameter(name, "must be a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
	}
	return n, nil
}

// move answers the review page. A plan that was started leads to its job.
func (s *Server) move(r *request) (response, error) {
	service, err := s.letters()
	if err != nil {
		return nil, err
	}
	plan, job, err := service.PlannedMove(r.Context(), r.asker(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if job != "" {
		return redirect{jobAddress(s.cfg.base(), job)}, nil
	}
	return page{component: templates.Move(s.moveView(r, plan))}, nil
}

// moveView is the review page of a plan.
func (s *Server) moveView(r *request, p admin.MovePlan) templates.MoveView {
	now, base := time.Now().In(zone(r)), s.cfg.base()
	v := templates.MoveView{
		Frame: s.frame(r, "Review"), Heading: "Review: " + lowerFirst(moveTitle(p)), Sentence: templates.Sentence(moveSentence(p)), Facts: moveFacts(p, now),
		Crumbs: append(deadCrumbs(base, p.Request.Pipeline, p.Request.Queue), templates.Crumb{Label: templates.Plain("Review", nameLimit)}),
		Change: moveAddress(base, p.ID) + "/change", Action: moveAddress(base, p.ID) + "/start", Button: moveTitle(p), Confirm: p.Confirm, Key: rand.Text(),
		Back: deadAddress(base, p.Request.Pipeline, p.Request.Queue), Requeues: p.Request.Do == admin.Requeue, Classes: moveClasses(p),
		Canaries: canaryChoices(p), Rates: rateChoices(p), Targets: targetLines(p), Sample: s.sample(p), Undo: texts(undoWords(p)), Missing: templates.Sentence(s.whyNoMoves(r, p.Request.Pipeline)),
	}
	if p.Edited != nil {
		v.Heading, v.Button, v.Diff = "Review: requeue 1 edited message", "Requeue 1 edited message", diffOf(p.Edited.Edit, p.Edited.Was, p)
	}
	if p.Request.Do == admin.RestoreLetters {
		v.Back = parkingAddress(base, p.Request.Pipeline, p.Request.Queue)
	}
	if len(p.Letters) > 0 {
		v.CSV = moveAddress(base, p.ID) + "/keys.csv"
	}
	for _, g := range p.Guards {
		tier := dedup.Warning
		if g.Blocking {
			tier, v.Blocked = dedup.Severe, true
		}
		v.Guards = append(v.Guards, templates.Problem{Tier: tier.String(), Text: templates.Sentence(endSentence(capital(g.Text)))})
	}
	v.Danger = moveDanger(p)
	v.NoClear, v.NoChange = allowedChoices(r.Who, v.Classes), mayPlanAgain(r.Who, p)
	if v.Missing.Short == "" && !r.Who.Can(p.Needs) {
		v.Missing = templates.Sentence("Starting this needs the role " + p.Needs.String() + "; you are signed in as " + r.Who.Role.String() + ". Whoever has it can open this page and start it.")
	}
	if p.IDChange != "" && v.Diff == nil {
		v.Guards = append(v.Guards, templates.Problem{Tier: dedup.TierUnknown.String(), Text: templates.Sentence(endSentence(capital(p.IDChange)))})
	}
	if p.Going() == 0 && !p.Request.Whole {
		v.Blocked = true
		v.Guards = append(v.Guards, templates.Problem{Tier: dedup.TierUnknown.String(), Text: templates.Sentence("Nothing would be moved: every message that was selected is left out by the choices below.")})
	}
	return v
}

// moveCount is how many messages a plan moves, as far as it was looked: of a whole queue all that are ready.
func moveCount(p admin.MovePlan) string {
	n := p.Going()
	switch {
	case p.Request.Whole && p.Scanned == 0:
		return messages(p.Ready)
	case p.Ready > int64(p.Scanned) && len(p.Request.Refs) == 0 && p.Request.Whole:
		return "up to " + messages(p.Ready-int64(p.Matching-n))
	case p.UpTo > int64(p.Matching) && p.Request.Filter != "":
		return templates.Number(float64(n)) + " seen, up to " + messages(min(p.UpTo, int64(n)+p.Ready-int64(p.Scanned)))
	default:
		return messages(n)
	}
}

// moveTitle says what a plan does, as a heading and a button: "Requeue 2,318 messages".
func moveTitle(p admin.MovePlan) string {
	return moveWord(p.Request.Do) + " " + moveCount(p)
}

// moveSentence says a plan in one sentence: "Requeue 2,318 messages from orders.dlq to orders."
func moveSentence(p admin.MovePlan) string {
	text := moveTitle(p)
	switch p.Request.Do {
	case admin.Discard:
		text += " from " + within(p.Source.Name) + " to the parking queue " + within(p.Parking)
	case admin.RestoreLetters:
		text += " from the parking queue " + within(cmp.Or(p.Parking, p.Source.Name)) + " to " + within(p.Request.Queue)
	default:
		text += " from " + within(p.Source.Name) + " to " + targetsText(targetNames(p))
	}
	var details []string
	left := 0
	for class, n := range p.Classes {
		if p.Choices[class] == admin.LeaveOut {
			left += n
		}
	}
	if left > 0 {
		details = append(details, templates.Number(float64(left))+" left out")
	}
	if p.Request.Canary > 0 {
		details = append(details, "the first "+agree(p.Request.Canary, "one", templates.Number(float64(p.Request.Canary)))+" as a canary")
	}
	if p.Request.Filter != "" {
		details = append(details, "selected by "+within(p.Request.Filter))
	}
	if len(details) > 0 {
		text += ": " + strings.Join(details, ", ")
	}
	return text + "."
}

// targetNames are the queues of a plan, those with most messages first.
func targetNames(p admin.MovePlan) []string {
	names := slices.Sorted(maps.Keys(p.Targets))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(p.Targets[b], p.Targets[a]) })
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

func targetLines(p admin.MovePlan) []templates.GroupLine {
	const most = 10
	var lines []templates.GroupLine
	for _, name := range targetNames(p) {
		if len(lines) == most {
			break
		}
		lines = append(lines, templates.GroupLine{Value: templates.Plain(name, keyLimit), Count: p.Targets[name]})
	}
	return lines
}

func moveFacts(p admin.MovePlan, now time.Time) []templates.Fact {
	facts := []templates.Fact{
		{Label: "Made", Value: moment(p.Made, now).Text + " by " + templates.Plain(p.By, nameLimit).Short},
		{Label: "Holds until", Value: moment(p.Made.Add(admin.PlanLife), now).Text},
		{Label: "Broker", Value: templates.Plain(p.Broker, nameLimit).Short},
		{Label: "In the queue", Value: templates.Number(float64(p.Ready))},
	}
	if p.Scanned > 0 {
		facts = append(facts, templates.Fact{Label: "Looked at", Value: templates.Number(float64(p.Scanned)) + " at " + moment(p.ScannedAt, now).Text},
			templates.Fact{Label: "Of those selected", Value: templates.Number(float64(p.Matching))})
	}
	if p.Most > 0 {
		facts = append(facts, templates.Fact{Label: "At most", Value: messages(p.Most)})
	}
	if p.Takes > 0 {
		facts = append(facts, templates.Fact{Label: "Takes about", Value: templates.Span(max(time.Second, p.Takes))})
	}
	return facts
}

// moveDanger reports whether a plan does what cannot be taken back and costs something.
func moveDanger(p admin.MovePlan) bool {
	for _, class := range []admin.Class{admin.ClassSwallowed, admin.ClassMayRunTwice, admin.ClassUnknown} {
		if p.Request.Do == admin.Requeue && p.Classes[class] > 0 && p.Choices[class] == admin.KeepAsIs {
			return true
		}
	}
	return p.Confirm != ""
}

// startMove carries a plan out and leads to the job.
func (s *Server) startMove(r *request) (response, error) {
	if err := r.ParseForm(); err != nil {
		return nil, formError(err)
	}
	service, err := s.letters()
	if err != nil {
		return nil, err
	}
	req := admin.StartRequest{PlanID: r.PathValue("id"), Reason: strings.TrimSpace(r.PostForm.Get("reason")), Confirm: strings.TrimSpace(r.PostForm.Get("confirm")), Token: r.PostForm.Get("key")}
	job, err := service.StartJob(r.Context(), r.asker(), req)
	if err == nil {
		return redirect{jobAddress(s.cfg.base(), job)}, nil
	}
	if dedup.KindOf(err) != dedup.Invalid {
		return nil, err
	}
	// A missing reason or a typing mistake: the same page again, with what was entered.
	plan, done, again := service.PlannedMove(r.Context(), r.asker(), req.PlanID)
	if again != nil || done != "" {
		return nil, err
	}
	v := s.moveView(r, plan)
	v.Reason, v.Typed, v.Error = clean(req.Reason, 500), clean(req.Confirm, 200), endSentence(dedup.PublicText(err))
	return page{http.StatusUnprocessableEntity, templates.Move(v)}, nil
}

// moveKeysCSV answers with the business keys that a plan touches.
func (s *Server) moveKeysCSV(r *request) (response, error) {
	service, err := s.letters()
	if err != nil {
		return nil, err
	}
	p, _, err := service.PlannedMove(r.Context(), r.asker(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	rows := [][]string{{"id", "business_key", "target", "class", "choice", "what_will_happen", "bytes", "ref"}}
	for _, l := range p.Letters {
		rows = append(rows, []string{
			templates.Escape(l.ID), templates.Escape(l.BusinessKey), templates.Escape(l.Target), string(l.Prediction.Class), string(l.Choice), effectOf(p.Request.Do, l.Prediction.Class, l.Choice), strconv.Itoa(l.Bytes), l.Ref,
		})
	}
	if more := p.Matching - len(p.Letters); more > 0 {
		rows = append(rows, lastRow(fmt.Sprintf("%s more %s selected and not listed", templates.Number(float64(more)), plural(int64(more), "is", "are"))))
	}
	return csvBody{filename: "affected-keys-" + p.Request.Pipeline + ".csv", rows: rows}, nil
}

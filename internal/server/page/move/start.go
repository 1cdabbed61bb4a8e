package move

import (
	"errors"
	"net/http"
	"strings"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// notPreviewed is what stands above a plan that was made in place of a start.
const notPreviewed = "Nothing was moved: you had changed a choice that was not previewed yet. This is the preview with your choices; start it if it is what you mean."

// startMove carries a plan out and leads to the job. The form sends the choices of the page along: where they are not those of the plan,
// nothing is moved, for nobody has seen what they do, and the page of a plan with them is shown.
func (s pages) startMove(r *web.Request) (web.Response, error) {
	req := jobs.StartRequest{PlanID: r.PathValue("id"), Reason: strings.TrimSpace(r.PostForm.Get("reason")), Confirm: strings.TrimSpace(r.PostForm.Get("confirm")), Token: r.PostForm.Get("key")}
	again, err := s.plannedOtherwise(r, req.PlanID)
	if err != nil {
		return nil, err
	}
	if again != nil {
		v := s.moveView(r, *again)
		v.Guards = append([]templates.Problem{show.Problem(dedup.Warning, notPreviewed, "")}, v.Guards...)
		v.Reason = show.Clean(req.Reason, 500)
		return web.Page{Status: http.StatusConflict, Component: templates.Move(v)}, nil
	}
	job, err := s.letters.StartJob(r.Context(), r.Asker(), req)
	if err == nil {
		return web.Redirect{To: web.KeepZone(r, letter.JobAddress(s.site.Base, job))}, nil
	}
	return s.refusedStart(r, req, err)
}

// plannedOtherwise is a plan with the choices of a form; nil where they are those of the plan that is to be started.
func (s pages) plannedOtherwise(r *web.Request, id string) (*move.Plan, error) {
	if !choosesMove(r) {
		return nil, nil
	}
	plan, job, err := s.letters.PlannedMove(r.Context(), r.Asker(), id)
	if err != nil || job != "" { // one that was started leads to its job
		return nil, err
	}
	if _, differs, err := chosenMove(plan, r.PostForm); err != nil || !differs {
		return nil, err
	}
	req, err := changedMove(plan, r.PostForm)
	if err != nil {
		return nil, err
	}
	again, err := s.letters.PlanMove(r.Context(), r.Asker(), req)
	return &again, err
}

// choosesMove reports whether a form has choices of a move at all.
func choosesMove(r *web.Request) bool {
	for name := range r.PostForm {
		if name == "canary" || name == "rate" || name == "most" || strings.HasPrefix(name, "choice-") {
			return true
		}
	}
	return false
}

// refusedStart is the answer to a start that was refused. After a missing reason, a typing mistake, or where a target has filled up: the
// same page again, with what was entered.
func (s pages) refusedStart(r *web.Request, req jobs.StartRequest, err error) (web.Response, error) {
	var many *move.TooMany
	if dedup.KindOf(err) != dedup.Invalid && !errors.As(err, &many) {
		return nil, err
	}
	plan, done, again := s.letters.PlannedMove(r.Context(), r.Asker(), req.PlanID)
	if again != nil || done != "" {
		return nil, err
	}
	v := s.moveView(r, plan)
	v.Reason, v.Typed, v.Error = show.Clean(req.Reason, 500), show.Clean(req.Confirm, 200), show.ErrorText(err)
	if many != nil {
		v.Blocked, v.Fit = true, s.fewerForm(r, plan, many.Fits)
		return web.Page{Status: http.StatusConflict, Component: templates.Move(v)}, nil
	}
	return web.Page{Status: http.StatusUnprocessableEntity, Component: templates.Move(v)}, nil
}

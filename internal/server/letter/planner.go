package letter

import (
	"context"
	"errors"
	"math"
	"net/url"
	"strconv"

	"dedup-dashboard/internal/admin/move"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// Most reads how many messages a form bounds a move to, 0 for no bound.
func Most(form url.Values, otherwise int64) (int64, error) {
	n, err := WholeNumber(form, "most", int(otherwise), 0, math.MaxInt32)
	return int64(n), err
}

// planning makes plans of moves.
type planning interface {
	PlanMove(ctx context.Context, who admin.Caller, req move.Request) (move.Plan, error)
}

// A Planner makes plans of moves and leads to their review. Without Moves nothing can be planned.
type Planner struct {
	Site  web.Site
	Moves planning
}

// PlanAgain plans messages of a job once more, at most as many as the form bounds it to. The bound of the job itself holds for a whole
// queue alone: where the messages are named, no other can take their place.
func (p Planner) PlanAgain(r *web.Request, req move.Request) (web.Response, error) {
	if !req.Whole {
		req.Most = 0
	}
	var err error
	if req.Most, err = Most(r.PostForm, req.Most); err != nil {
		return nil, err
	}
	return p.Plan(r, req)
}

// Plan makes a plan and leads to its review, or offers that of fewer messages.
func (p Planner) Plan(r *web.Request, req move.Request) (web.Response, error) {
	if p.Moves == nil {
		return nil, web.Unavailable(NoAccess)
	}
	plan, err := p.Moves.PlanMove(r.Context(), r.Asker(), req)
	var many *move.TooMany
	switch {
	case errors.As(err, &many):
		return p.offerFewer(r, many), nil
	case err != nil:
		return nil, err
	}
	return web.Redirect{To: web.KeepZone(r, MoveAddress(p.Site.Base, plan.ID))}, nil
}

// offerFewer refuses a selection that is too large, and offers the same of as many messages as may be moved.
func (p Planner) offerFewer(r *web.Request, many *move.TooMany) web.Response {
	view := p.Site.ErrorView(r, many)
	again := templates.FormAgain{Action: web.KeepZone(r, r.URL.Path), Label: FewerWord(many.Fits), Fields: []templates.FormField{{Name: "most", Value: strconv.FormatInt(many.Fits, 10)}}}
	for _, name := range []string{"pipeline", "queue", "scan", "filter", "target", "do", "sel"} {
		for _, value := range r.PostForm[name] {
			again.Fields = append(again.Fields, templates.FormField{Name: name, Value: value})
		}
	}
	view.Again = &again
	return web.Page{Status: view.Status, Component: templates.Error(view)}
}

// FewerWord is the button that plans a move of fewer messages.
func FewerWord(n int64) string { return "Take " + templates.Number(n) + " at most" }

// WholeNumber reads a whole number of a form between two bounds, and what stands otherwise where there is none.
func WholeNumber(form url.Values, name string, otherwise, least, most int) (int, error) {
	text := form.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, list.Bad(name, "must be a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
	}
	return n, nil
}

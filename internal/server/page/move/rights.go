package move

import (
	"slices"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// firstRefs are the first messages of a look that a filter selects and a requeue moves, as many as an operator may requeue at once.
func (s pages) firstRefs(r *web.Request, req move.Request, filter string) ([]string, error) {
	f, err := deadletter.ParseFilter(filter, r.Now())
	if err != nil {
		return nil, err
	}
	view, err := s.letters.Queue(r.Context(), r.Asker(), req.Pipeline, req.Queue)
	if err != nil {
		return nil, err
	}
	scan, err := s.letters.Kept(r.Context(), r.Asker(), req.Scan)
	if err != nil {
		return nil, err
	}
	matching := slices.DeleteFunc(slices.Clone(scan.Letters), func(l deadletter.Letter) bool { return !f.Matches(l) })
	var refs []string
	for _, l := range letter.First(matching, view.OperatorLimit, req.Target) {
		refs = append(refs, l.Ref)
	}
	if len(refs) == 0 {
		return nil, web.Conflict("No message of this look matches the filter")
	}
	return refs, nil
}

// allowedChoices marks the choices that only an admin may make, and says why; empty where there are none.
func allowedChoices(who auth.Principal, classes []templates.MoveClass) string {
	why := ""
	for i := range classes {
		for j := range classes[i].Choices {
			if c := &classes[i].Choices[j]; c.Value == string(preflight.ClearFirst) && !who.Can(auth.Admin) {
				c.Off, why = true, letter.NeedsAdmin(who, "Clearing markers first")
			}
		}
	}
	return why
}

// mayPlanAgain says why a reader cannot change the choices of a plan; empty when they can.
func mayPlanAgain(r *web.Request, p move.Plan) string {
	if r.Who.Can(p.Needs) {
		return ""
	}
	return r.NeedsRole("Changing this plan", p.Needs)
}

package server

import (
	"maps"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// The words on a control that is shown and cannot be used. The service refuses in any case: this saves the way to a refusal.

// needsAdmin is why an operator cannot use a control: "Discarding needs the role admin."; empty for admins.
func needsAdmin(who auth.Principal, what string) string {
	if who.Can(adminRole) {
		return ""
	}
	return what + " needs the role " + adminRole.String() + "."
}

// restrict takes from an operator what would only be refused, says why, and offers the first messages where their number is the reason.
func (d deadQueuePage) restrict(b *templates.LetterBar, matching []deadletter.Letter) {
	b.NoDiscard, b.NoRestore = needsAdmin(d.who, "Discarding"), needsAdmin(d.who, "Restoring")
	if d.who.Can(adminRole) || b.Parking {
		return
	}
	switch most := d.view.OperatorLimit; {
	case !b.Filtered:
		b.NoAll = needsAdmin(d.who, "Requeueing a whole queue")
	case b.Matching > most:
		b.NoAll = "Operators requeue at most " + messages(most) + " at once."
	}
	if b.NoAll != "" {
		b.First = len(firstOf(matching, d.view.OperatorLimit, ""))
	}
}

// firstRefs are the first messages of a look that a filter selects and a requeue moves, as many as an operator may requeue at once.
func (s *Server) firstRefs(r *web.Request, service deadLetterService, req move.Request, filter string) ([]string, error) {
	f, err := deadletter.ParseFilter(filter, time.Now().In(web.Zone(r)))
	if err != nil {
		return nil, err
	}
	view, err := service.Queue(r.Context(), r.Asker(), req.Pipeline, req.Queue)
	if err != nil {
		return nil, err
	}
	scan, err := service.Kept(r.Context(), r.Asker(), req.Scan)
	if err != nil {
		return nil, err
	}
	matching := slices.DeleteFunc(slices.Clone(scan.Letters), func(l deadletter.Letter) bool { return !f.Matches(l) })
	var refs []string
	for _, l := range firstOf(matching, view.OperatorLimit, req.Target) {
		refs = append(refs, l.Ref)
	}
	if len(refs) == 0 {
		return nil, &dedup.Error{Kind: dedup.Conflict, Public: "No message of this look matches the filter"}
	}
	return refs, nil
}

// firstOf are the first letters that a requeue moves unless somebody chooses otherwise. Where it moves none they are the first of all: the
// review says why.
func firstOf(letters []deadletter.Letter, most int, target string) []deadletter.Letter {
	var some []deadletter.Letter
	for _, l := range letters {
		if len(some) < most && l.Goes(target) {
			some = append(some, l)
		}
	}
	if len(some) == 0 {
		some = letters[:min(len(letters), most)]
	}
	return some
}

// allowedChoices marks the choices that only an admin may make, and says why; empty where there are none.
func allowedChoices(who auth.Principal, classes []templates.MoveClass) string {
	why := ""
	for i := range classes {
		for j := range classes[i].Choices {
			if c := &classes[i].Choices[j]; c.Value == string(preflight.ClearFirst) && !who.Can(adminRole) {
				c.Off, why = true, needsAdmin(who, "Clearing markers first")
			}
		}
	}
	return why
}

// mayPlanAgain says why a reader cannot change the choices of a plan; empty when they can.
func mayPlanAgain(who auth.Principal, p move.Plan) string {
	if who.Can(p.Needs) {
		return ""
	}
	return "Changing this plan needs the role " + p.Needs.String() + "; you are signed in as " + who.Role.String() + "."
}

// mayRetry says why a reader cannot plan the n messages of a job again that did not go through; empty when they can.
func (s *Server) mayRetry(r *web.Request, p move.Plan, n int64) string {
	req := p.Request
	switch {
	case r.Who.Can(adminRole):
		return ""
	case req.Do == admin.Discard:
		return needsAdmin(r.Who, "Discarding")
	case req.Do == admin.RestoreLetters:
		return needsAdmin(r.Who, "Restoring")
	case req.Whole:
		return needsAdmin(r.Who, "Requeueing a whole queue")
	case slices.Contains(slices.Collect(maps.Values(req.Choices)), preflight.ClearFirst):
		return needsAdmin(r.Who, "Clearing markers first")
	}
	if view, err := s.deadLetters.Queue(r.Context(), r.Asker(), req.Pipeline, req.Queue); err == nil && n > int64(view.OperatorLimit) {
		return "Operators requeue at most " + messages(view.OperatorLimit) + " at once."
	}
	return ""
}

// restrictJob takes from a reader what would only be refused, and says why.
func (s *Server) restrictJob(r *web.Request, v *templates.JobView, j jobs.Job) {
	if v.Retry != "" {
		v.NoRetry = s.mayRetry(r, j.Plan, int64(v.RetryN))
	}
	if j.State != jobs.JobPaused || r.Who.Can(j.Plan.Needs) {
		return
	}
	for i := range v.Controls {
		if strings.HasSuffix(v.Controls[i].Value, "/resume") {
			v.Controls[i].Off, v.NoResume = true, "Resuming this job needs the role "+j.Plan.Needs.String()+", as starting it did."
		}
	}
}

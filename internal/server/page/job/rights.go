package job

import (
	"maps"
	"slices"
	"strings"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// mayRetry says why a reader cannot plan the n messages of a job again that did not go through; empty when they can.
func (s pages) mayRetry(r *web.Request, p move.Plan, n int64) string {
	req := p.Request
	switch {
	case r.Who.Can(auth.Admin):
		return ""
	case req.Do == admin.Discard:
		return letter.NeedsAdmin(r.Who, "Discarding")
	case req.Do == admin.RestoreLetters:
		return letter.NeedsAdmin(r.Who, "Restoring")
	case req.Whole:
		return letter.NeedsAdmin(r.Who, "Requeueing a whole queue")
	case slices.Contains(slices.Collect(maps.Values(req.Choices)), preflight.ClearFirst):
		return letter.NeedsAdmin(r.Who, "Clearing markers first")
	}
	if view, err := s.letters.Queue(r.Context(), r.Asker(), req.Pipeline, req.Queue); err == nil && n > int64(view.OperatorLimit) {
		return "Operators requeue at most " + letter.Messages(view.OperatorLimit) + " at once."
	}
	return ""
}

// restrictJob takes from a reader what would only be refused, and says why.
func (s pages) restrictJob(r *web.Request, v *templates.JobView, j jobs.Job) {
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

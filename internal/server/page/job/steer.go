package job

import (
	"context"
	"slices"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/web"
)

// A step steers a job: Service.PauseJob, ResumeJob or CancelJob.
type step func(s Service, ctx context.Context, who admin.Caller, id string) error

// steer takes a form that steers a job, and leads back to its page.
func (s pages) steer(do step) web.Handler {
	return func(r *web.Request) (web.Response, error) {
		if err := do(s.letters, r.Context(), r.Asker(), r.PathValue("id")); err != nil {
			return nil, err
		}
		return web.Redirect{To: letter.JobAddress(s.site.Base, r.PathValue("id"))}, nil
	}
}

// apiSteer steers a job and answers with it.
func (s pages) apiSteer(do step) web.Handler {
	return func(r *web.Request) (web.Response, error) {
		if err := do(s.letters, r.Context(), r.Asker(), r.PathValue("id")); err != nil {
			return nil, err
		}
		return s.apiJob(r)
	}
}

// retryJob plans the messages of a job that did not go through once more.
func (s pages) retryJob(r *web.Request) (web.Response, error) {
	j, err := s.jobAsked(r)
	if err != nil {
		return nil, err
	}
	req := j.Plan.Request
	if j.Plan.IDChange != "" {
		return nil, web.Conflict("The message of this job was edited, and the edit is not kept: make the edit again")
	}
	if req.Whole {
		return s.planner().PlanAgain(r, req)
	}
	items, err := s.everyItem(r, j.ID)
	if err != nil {
		return nil, err
	}
	req.Filter, req.Refs, req.Canary = "", failedRefs(items), 0
	if len(req.Refs) == 0 {
		return nil, web.Conflict("Every message of this job went through, or was left on purpose")
	}
	ask := s.letters.Queue
	if req.Do == admin.RestoreLetters {
		ask = s.letters.ParkingQueue
	}
	view, err := ask(r.Context(), r.Asker(), req.Pipeline, req.Queue)
	if err != nil {
		return nil, err
	}
	if view.Scan == nil {
		return nil, web.Conflict("What a look found of these messages is not kept any more: look at the queue again, then retry")
	}
	req.Scan = view.Scan.ID
	return s.planner().PlanAgain(r, req)
}

// failedRefs are the messages of a job that did not go through, each once. A job may take a message several times: the last counts.
func failedRefs(items []jobs.JobItem) []string {
	last := map[string]string{}
	for _, i := range items {
		last[i.Ref] = i.Outcome
	}
	var refs []string
	for _, i := range items {
		if slices.Contains([]string{"returned", "rejected", "unknown", "bounced"}, last[i.Ref]) && i.Ref != "" {
			refs = append(refs, i.Ref)
			delete(last, i.Ref)
		}
	}
	return refs
}

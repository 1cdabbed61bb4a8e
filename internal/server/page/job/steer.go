package job

import (
	"slices"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/web"
)

// pauseJob, resumeJob and cancelJob steer a job and lead back to its page.
func (s pages) pauseJob(r *web.Request) (web.Response, error)  { return s.steer(r, "pause") }
func (s pages) resumeJob(r *web.Request) (web.Response, error) { return s.steer(r, "resume") }
func (s pages) cancelJob(r *web.Request) (web.Response, error) { return s.steer(r, "cancel") }

func (s pages) steer(r *web.Request, how string) (web.Response, error) {
	if err := s.steered(r, how); err != nil {
		return nil, err
	}
	return web.Redirect{To: letter.JobAddress(s.site.Base, r.PathValue("id"))}, nil
}

func (s pages) steered(r *web.Request, how string) error {
	service, err := s.service()
	if err != nil {
		return err
	}
	act := map[string]func() error{
		"pause":  func() error { return service.PauseJob(r.Context(), r.Asker(), r.PathValue("id")) },
		"resume": func() error { return service.ResumeJob(r.Context(), r.Asker(), r.PathValue("id")) },
		"cancel": func() error { return service.CancelJob(r.Context(), r.Asker(), r.PathValue("id")) },
	}[how]
	return act()
}

// retryJob plans the messages of a job that did not go through once more.
func (s pages) retryJob(r *web.Request) (web.Response, error) {
	service, j, err := s.jobAsked(r)
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
	items, err := everyItem(r, service, j.ID)
	if err != nil {
		return nil, err
	}
	req.Filter, req.Refs, req.Canary = "", failedRefs(items), 0
	if len(req.Refs) == 0 {
		return nil, web.Conflict("Every message of this job went through, or was left on purpose")
	}
	ask := service.Queue
	if req.Do == admin.RestoreLetters {
		ask = service.ParkingQueue
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

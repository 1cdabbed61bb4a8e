package journal

import (
	"maps"
	"slices"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
)

// movePlanWith returns a copy of a plan with every string that a broker, a store or a producer wrote changed. An edit is never kept.
func movePlanWith(p move.Plan, text func(string) string) move.Plan {
	p.Request.Edit = nil
	for _, s := range []*string{&p.Request.Queue, &p.Request.Filter, &p.Source.Vhost, &p.Source.Name, &p.Parking, &p.Confirm, &p.IDChange} {
		*s = text(*s)
	}
	targets := make(map[string]int, len(p.Targets))
	for name, n := range p.Targets {
		targets[text(name)] = n
	}
	p.Targets = targets
	p.Letters = slices.Clone(p.Letters)
	for i := range p.Letters {
		l := &p.Letters[i]
		l.ID, l.BusinessKey, l.Target = text(l.ID), text(l.BusinessKey), text(l.Target)
		l.Prediction.Reasons = textsWith(l.Prediction.Reasons, text)
	}
	p.Guards = slices.Clone(p.Guards)
	for i := range p.Guards {
		p.Guards[i].Text = text(p.Guards[i].Text)
	}
	p.Classes, p.Choices = maps.Clone(p.Classes), maps.Clone(p.Choices)
	return p
}

func textsWith(list []string, text func(string) string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = text(list[i])
	}
	return list
}

func encodeMovePlan(p move.Plan) (string, error) {
	return asJSON(movePlanWith(p, packString))
}

func decodeMovePlan(text string) (move.Plan, error) {
	p, err := unmarshal[move.Plan]("plan", text)
	return movePlanWith(p, unpackString), err
}

// jobWith returns a copy of a job without its plan, changed likewise.
func jobWith(j jobs.Job, text func(string) string) jobs.Job {
	j.Plan = move.Plan{}
	j.Why = text(j.Why)
	j.Failures = slices.Clone(j.Failures)
	for i := range j.Failures {
		f := &j.Failures[i]
		f.ID, f.Target, f.Text = text(f.ID), text(f.Target), text(f.Text)
	}
	if j.Canary != nil {
		c := *j.Canary
		c.Text = text(c.Text)
		j.Canary = &c
	}
	return j
}

func encodeJob(j jobs.Job) (string, error) {
	return asJSON(jobWith(j, packString))
}

func decodeJob(text string) (jobs.Job, error) {
	j, err := unmarshal[jobs.Job]("job", text)
	return jobWith(j, unpackString), err
}

package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// StartJob begins to carry a plan out.
func (m *Morgue) StartJob(ctx context.Context, who admin.Caller, req jobs.StartRequest) (string, error) {
	if err := allow(who, auth.Operator); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.plans[req.PlanID]
	switch {
	case !ok:
		return "", missing("There is no such plan, or it is over")
	case p.job != "":
		return p.job, nil
	case !who.Can(p.plan.Needs):
		return "", allow(who, p.plan.Needs)
	case len(req.Reason) < 3:
		return "", refuse(dedup.Invalid, "Give a reason of 3 to 500 characters")
	case p.plan.Confirm != "" && req.Confirm != p.plan.Confirm:
		return "", refuse(dedup.Invalid, "What was typed is not "+p.plan.Confirm+"; nothing was moved")
	}
	for _, g := range p.plan.Guards {
		if g.Blocking {
			return "", refuse(dedup.Conflict, g.Text)
		}
	}
	j := &movingJob{rest: slices.Clone(p.letters), last: m.now(), Job: jobs.Job{
		ID: rand.Text(), Plan: p.plan, By: who.Name, Reason: req.Reason, State: jobs.JobRunning, Started: m.now(), Limit: p.plan.Ready,
	}}
	if !p.plan.Request.Whole {
		j.Limit = int64(len(p.letters))
	}
	if most := p.plan.Most; most > 0 {
		j.rest = j.rest[:min(int64(len(j.rest)), most)]
	}
	j.Extent = move.ExtentOf(p.plan, p.plan.Ready)
	if p.plan.Request.Canary > 0 {
		j.State = jobs.JobCanary
	}
	if p.edited != nil && len(j.rest) == 1 {
		j.rest[0].Body = p.edited.Body
	}
	p.job = j.ID
	m.plans[req.PlanID] = p
	m.jobs = append(m.jobs, j)
	return j.ID, m.entry(ctx, j.entryOf(admin.Intent))
}

func (j *movingJob) entryOf(phase string) admin.Entry {
	return admin.Entry{
		Operation: j.ID, Phase: phase, Who: j.By, Role: "admin", Method: "session", Action: admin.MoveAction(j.Plan.Request.Do), Target: j.Plan.Source.Name, Reason: j.Reason,
		Detail: fmt.Sprintf("%d moved, %d left", j.Moved, j.Left),
	}
}

// Tick lets every job move on to the present.
func (m *Morgue) Tick() {
	m.mu.Lock()
	var topics []string
	for _, j := range m.jobs {
		if before := j.Job; m.advance(j) || before.State != j.State {
			topics = append(topics, "job:"+j.ID)
		}
	}
	m.mu.Unlock()
	for _, t := range topics {
		if m.Changed != nil {
			m.Changed(t)
		}
	}
}

// advance moves what the rate allows since the last time; the caller holds mu.
func (m *Morgue) advance(j *movingJob) bool {
	now := m.now()
	passed := now.Sub(j.last)
	j.last = now
	switch {
	case j.State.Final() || j.State == jobs.JobPaused:
		return false
	case j.State == jobs.JobWatching:
		if now.Sub(j.watched) < m.Watch {
			return false
		}
		m.judge(j, now)
		return true
	}
	rate := j.Plan.Request.Rate
	if rate == 0 {
		rate = move.DefaultRate
	}
	if rate < 0 {
		rate = 5000
	}
	j.Rate, j.credit = rate, j.credit+passed.Seconds()*rate
	for ; j.credit >= 1 && len(j.rest) > 0 && j.State != jobs.JobWatching; j.credit-- {
		m.moveOne(j, now)
		if j.State == jobs.JobCanary && (j.Moved >= int64(j.Plan.Request.Canary)) {
			j.State, j.watched, j.WatchedUntil = jobs.JobWatching, now, now.Add(m.Watch)
		}
	}
	if len(j.rest) == 0 && j.State != jobs.JobWatching {
		m.end(j, jobs.JobDone, "")
	}
	return true
}

// moveOne takes the next message and does with it what the plan says; the caller holds mu.
func (m *Morgue) moveOne(j *movingJob, now time.Time) {
	l := j.rest[0]
	j.rest = j.rest[1:]
	item := jobs.JobItem{Seq: int64(len(j.items) + 1), At: now, Ref: l.Ref, ID: l.ID, Target: l.Target, Class: l.Prediction.Class, Outcome: "moved"}
	if len(l.Deaths) > 0 {
		item.Death = &l.Deaths[0]
	}
	source, target := j.Plan.Source.Name, ""
	switch j.Plan.Request.Do {
	case admin.Discard:
		target, item.Target = j.Plan.Parking, j.Plan.Parking
	case admin.RestoreLetters:
		target, item.Target = j.Plan.Request.Queue, j.Plan.Request.Queue
	}
	switch choice := j.Plan.Choices[l.Prediction.Class]; {
	case choice == preflight.LeaveOut:
		item.Outcome, item.Text = "left", "left out by choice"
		j.Left++
	case j.Plan.Request.Do == admin.Requeue && l.Prediction.Class == preflight.ClassMayRunTwice && len(j.items)%3 == 0:
		item.Outcome, item.Text = "returned", "no queue took it: NO_ROUTE"
		j.Returned++
	default:
		if choice == preflight.ClearFirst {
			j.Cleared++
		}
		j.Moved++
		j.gone = append(j.gone, l)
		m.queues[source] = slices.DeleteFunc(m.letters(source), func(x deadletter.Letter) bool { return x.Ref == l.Ref })
		if target != "" {
			l.Queue.Name = target
			m.queues[target] = append(m.letters(target), l)
		}
	}
	j.items = append(j.items, item)
	if item.Outcome == "returned" {
		j.Failures = append([]jobs.JobItem{item}, j.Failures...)
		j.Failures = j.Failures[:min(50, len(j.Failures))]
	}
}

// judge says whether the first messages went well; the caller holds mu.
func (m *Morgue) judge(j *movingJob, now time.Time) {
	n := int(j.Moved)
	j.Canary = &jobs.CanaryVerdict{Sent: n, At: now, Done: n, BackBy: jobs.BackByLook, Good: true, Text: fmt.Sprintf("all %d were done within the time, and none came back", n)}
	j.State = jobs.JobRunning
	if m.BadCanary {
		j.Canary = &jobs.CanaryVerdict{Sent: n, At: now, Done: n / 2, Back: n - n/2, BackBy: jobs.BackByLook, Text: fmt.Sprintf("%d of %d are in the dead-letter queue again", n-n/2, n)}
		m.end(j, jobs.JobStopped, "the canary failed: "+j.Canary.Text)
	}
}

// end brings a job to an end; the caller holds mu.
func (m *Morgue) end(j *movingJob, state jobs.JobState, why string) {
	j.State, j.Why, j.Ended, j.Rate = state, why, m.now(), 0
	arrived := int64(3 + min(m.DeadAgain, len(j.gone)))
	before, after := 0.1718, 0.0123
	j.Arrived = &arrived
	if j.Plan.Request.Do == admin.Requeue {
		j.Aftermath = &jobs.Aftermath{At: m.now(), Results: map[preflight.Class]map[string]int{}, RateBefore: &before, RateAfter: &after}
		again := m.dieAgain(j)
		for n := range j.items {
			i := &j.items[n]
			if i.Outcome != "moved" {
				continue
			}
			if j.Aftermath.Results[i.Class] == nil {
				j.Aftermath.Results[i.Class] = map[string]int{}
			}
			result := "done"
			if i.Class == preflight.ClassLastAttempt {
				result = "failed"
			}
			if again[i.Ref] {
				result = "back"
			}
			i.Became = result
			j.Aftermath.Results[i.Class][result]++
			j.Aftermath.Asked++
		}
	}
	if m.Record != nil {
		_ = m.entry(context.Background(), j.entryOf(admin.Succeeded))
	}
}

func (m *Morgue) find(who admin.Caller, id string) (*movingJob, error) {
	if err := allow(who, auth.Operator); err != nil {
		return nil, err
	}
	for _, j := range m.jobs {
		if j.ID == id {
			return j, nil
		}
	}
	return nil, missing("There is no such job")
}

// Job returns a job.
func (m *Morgue) Job(_ context.Context, who admin.Caller, id string) (jobs.Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j, err := m.find(who, id)
	if err != nil {
		return jobs.Job{}, err
	}
	return j.Job, nil
}

// Jobs returns the newest jobs.
func (m *Morgue) Jobs(_ context.Context, who admin.Caller, limit int) ([]jobs.JobSummary, error) {
	if err := allow(who, auth.Operator); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []jobs.JobSummary
	for _, j := range slices.Backward(m.jobs) {
		if len(list) < limit {
			list = append(list, j.summary())
		}
	}
	return list, nil
}

// summary is the job as it stands in a list.
func (j *movingJob) summary() jobs.JobSummary {
	return jobs.JobSummary{
		ID: j.ID, Do: j.Plan.Request.Do, Pipeline: j.Plan.Request.Pipeline, Queue: j.Plan.Source.Name, By: j.By, Reason: j.Reason, State: j.State, Started: j.Started, Ended: j.Ended, Limit: j.Limit, Extent: j.Extent, Counts: j.Counts, Aftermath: j.Aftermath, Arrived: j.Arrived,
	}
}

// JobSummary returns a job as it stands in a list.
func (m *Morgue) JobSummary(_ context.Context, who admin.Caller, id string) (jobs.JobSummary, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j, err := m.find(who, id)
	if err != nil {
		return jobs.JobSummary{}, err
	}
	return j.summary(), nil
}

// JobItems returns the messages of a job behind a number.
func (m *Morgue) JobItems(_ context.Context, who admin.Caller, id string, after int64, limit int) ([]jobs.JobItem, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j, err := m.find(who, id)
	if err != nil {
		return nil, err
	}
	rest := j.items[min(int(after), len(j.items)):]
	return slices.Clone(rest[:min(limit, len(rest))]), nil
}

// ItemsOf returns what jobs did with a message.
func (m *Morgue) ItemsOf(_ context.Context, who admin.Caller, id string) ([]jobs.JobItem, error) {
	if err := allow(who, auth.Operator); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []jobs.JobItem
	for _, j := range m.jobs {
		for _, i := range j.items {
			if i.ID == id {
				i.Job = j.ID
				list = append(list, i)
			}
		}
	}
	return list, nil
}

// PauseJob holds a job up, ResumeJob lets it go on, CancelJob ends it where it is.
func (m *Morgue) PauseJob(_ context.Context, who admin.Caller, id string) error {
	return m.steer(who, id, func(j *movingJob) error {
		if j.State.Final() || j.State == jobs.JobPaused {
			return refuse(dedup.Conflict, "The job is not running")
		}
		j.State, j.Why = jobs.JobPaused, who.Name+" paused it"
		return nil
	})
}

// ResumeJob lets a paused job go on.
func (m *Morgue) ResumeJob(_ context.Context, who admin.Caller, id string) error {
	return m.steer(who, id, func(j *movingJob) error {
		if err := allow(who, j.Plan.Needs); err != nil {
			return err
		}
		if j.State != jobs.JobPaused {
			return refuse(dedup.Conflict, "The job is not paused")
		}
		j.State, j.Why, j.last = jobs.JobRunning, "", m.now()
		if j.Plan.Request.Canary > 0 && j.Canary == nil {
			j.State = jobs.JobCanary
		}
		return nil
	})
}

// CancelJob ends a job where it is.
func (m *Morgue) CancelJob(_ context.Context, who admin.Caller, id string) error {
	return m.steer(who, id, func(j *movingJob) error {
		if j.State.Final() {
			return refuse(dedup.Conflict, "The job has ended")
		}
		m.end(j, jobs.JobCancelled, who.Name+" cancelled it; what was not moved is where it was")
		return nil
	})
}

func (m *Morgue) steer(who admin.Caller, id string, how func(*movingJob) error) error {
	m.mu.Lock()
	j, err := m.find(who, id)
	if err == nil {
		err = how(j)
	}
	m.mu.Unlock()
	if err == nil && m.Changed != nil {
		m.Changed("job:" + id)
	}
	return err
}

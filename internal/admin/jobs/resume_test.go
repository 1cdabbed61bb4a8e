package jobs_test

import (
	"sync/atomic"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// A countedRound counts how often it was asked.
type countedRound struct {
	*admintest.Round
	asked atomic.Int64
}

func (r *countedRound) Snapshot() *dedup.Snapshot {
	r.asked.Add(1)
	return r.Round.Snapshot()
}

// interrupted returns a scene whose program has ended in the middle of a job over n messages, and whose next start has discovered nothing.
func (m *morgue) interrupted(t *testing.T, name string, n int) (s *scene, job string, all []string, observed *countedRound, discovered *dedup.Snapshot) {
	t.Helper()
	s = m.newScene(t, name, nil, func(deps *jobs.DeadLettersDeps) {
		observed = &countedRound{Round: deps.Snapshots.(*admintest.Round)}
		deps.Snapshots = observed
	})
	all = ids(name, n)
	s.die(t, all...)
	s.tap.hold(40)
	job = s.start(t, s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Rate: 150}))
	s.until(t, job, "moving", func(j jobs.Job) bool { return j.Moved > 20 })
	s.close(t)
	s.tap.open()
	discovered = s.round.Snapshot()
	nothing := *discovered
	nothing.Pipelines = []dedup.PipelineStatus{{Pipeline: discovered.Pipelines[0].Pipeline}}
	s.round.Set(&nothing)
	return s, job, all, observed, discovered
}

func waitsForDiscovery(t *testing.T, m *morgue) {
	s, id, all, observed, discovered := m.interrupted(t, "undiscovered", 200)
	before := observed.asked.Load()
	s.open(t)
	s.await(t, "two attempts to go on", func() bool { return observed.asked.Load() >= before+4 })
	job, err := s.Job(t.Context(), operator, id)
	admintest.Must(t, err)
	if job.State.Final() {
		t.Fatalf("the job is %s before anything was discovered: %s", job.State, job.Why)
	}
	s.round.Set(discovered)
	found := time.Now()
	if job = s.final(t, id); job.State != jobs.JobDone || job.Moved != 200 || job.Resumed != 1 {
		t.Fatalf("%s %q %+v, resumed %d", job.State, job.Why, job.Counts, job.Resumed)
	}
	t.Logf("done %v after the queue was discovered", time.Since(found).Round(time.Millisecond))
	conserved(t, all, s.drain(t, s.name), s.drain(t, s.dead.Name))
}

func givesUpDeletedQueue(t *testing.T, m *morgue) {
	s, id, _, _, _ := m.interrupted(t, "deleted", 200)
	_, err := s.channel.QueueDelete(s.dead.Name, false, false, false)
	admintest.Must(t, err)
	s.open(t)
	if job := s.final(t, id); job.State != jobs.JobStopped || job.Why == "" {
		t.Errorf("%s %q, want it stopped with the reason", job.State, job.Why)
	}
}

package jobs_test

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

func restarts(t *testing.T, m *morgue) {
	s := m.newScene(t, "restarted", nil)
	all := ids("restart", 300)
	s.die(t, all...)
	s.tap.hold(40)
	id := s.start(t, s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Rate: 150}))
	s.until(t, id, "moving", func(j jobs.Job) bool { return j.Moved > 20 })
	s.close(t)
	s.tap.open()
	s.open(t)
	job := s.final(t, id)
	if job.State != jobs.JobDone || job.Moved != 300 || job.Resumed != 1 {
		t.Fatalf("%s %q %+v, resumed %d", job.State, job.Why, job.Counts, job.Resumed)
	}
	conserved(t, all, s.drain(t, s.name), s.drain(t, s.dead.Name))
}

func losesJournal(t *testing.T, m *morgue) {
	s := m.newScene(t, "forgotten", nil)
	all := ids("forget", 200)
	s.die(t, all...)
	s.tap.hold(40)
	id := s.start(t, s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Rate: 100}))
	s.until(t, id, "moving", func(j jobs.Job) bool { return j.Moved > 20 })
	s.close(t)
	s.tap.open()
	for _, f := range []string{"journal.db", "journal.db-wal", "journal.db-shm"} {
		if err := os.Remove(filepath.Join(s.dir, f)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	s.open(t)
	s.back(t, all)
	left := s.depth(t, s.dead.Name)
	if _, err := s.Job(t.Context(), operator, id); dedup.KindOf(err) != dedup.NotFound {
		t.Errorf("the job is known: %v", err)
	}
	job := s.final(t, s.start(t, s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Rate: -1})))
	if job.Moved != left {
		t.Errorf("%d were left, the new job moved %d", left, job.Moved)
	}
	conserved(t, all, s.drain(t, s.name), s.drain(t, s.dead.Name))
}

func losesConnections(t *testing.T, m *morgue) {
	s := m.newScene(t, "cut", nil)
	all := ids("cut", 300)
	s.die(t, all...)
	s.tap.hold(40)
	id := s.start(t, s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Rate: 50}))
	s.until(t, id, "moving", func(j jobs.Job) bool { return j.Moved > 20 })
	closed := 0
	s.await(t, "the job with new connections", func() bool {
		var open []struct {
			Name string `json:"name"`
			User string `json:"user"`
		}
		admintest.Must(t, m.rabbit.API(t.Context(), http.MethodGet, "/api/connections", nil, &open))
		for _, c := range open {
			if c.User == "mover" {
				// One that closed by itself since it was listed counts for nothing.
				if err := m.rabbit.API(t.Context(), http.MethodDelete, "/api/connections/"+url.PathEscape(c.Name), nil, nil); err == nil {
					closed++
				} else if !strings.Contains(err.Error(), "404") {
					t.Fatal(err)
				}
			}
		}
		if closed > 0 { // a connection that is not of the job may be closed as well: the job finds the loss of its own by the next messages
			s.tap.drip()
		}
		return s.tap.opened() > 1
	})
	s.tap.open()
	job := s.final(t, id)
	if closed == 0 || job.State != jobs.JobDone || job.Resumed == 0 {
		t.Fatalf("%d closed: %s %q %+v, resumed %d", closed, job.State, job.Why, job.Counts, job.Resumed)
	}
	moved, left := s.drain(t, s.name), s.drain(t, s.dead.Name)
	copies := 0
	for _, id := range all {
		if moved[id]+left[id] == 0 {
			t.Errorf("%s is lost", id)
		}
		copies += moved[id] + left[id] - 1
	}
	if copies > 256*job.Resumed {
		t.Errorf("%d copies after %d connections", copies, job.Resumed)
	}
	if len(left) != 0 {
		t.Errorf("%d are left", len(left))
	}
}

func restartsWatching(t *testing.T, m *morgue) {
	s := m.newScene(t, "watched", nil) // and watches until the restart, however late that is
	all := ids("watch", 50)
	s.die(t, all...)
	s.consume(t, s.marks)
	id := s.start(t, s.planMove(t, move.Request{Do: admin.Requeue, Whole: true, Canary: 5, Rate: -1}))
	s.until(t, id, "watching", func(j jobs.Job) bool { return j.State == jobs.JobWatching })
	s.close(t)
	soon(&s.deps)
	s.open(t)
	job := s.final(t, id)
	if job.State != jobs.JobDone || job.Moved != 50 || job.Canary == nil || job.Canary.Done != 5 {
		t.Fatalf("%s %q %+v, canary %+v", job.State, job.Why, job.Counts, job.Canary)
	}
}

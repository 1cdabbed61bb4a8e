package jobs_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/admintest"
)

// diesAgain puts those of some messages that are at their target back into the dead-letter queue.
func (w *ward) diesAgain(ids ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	back := func(m message.Message) bool { return slices.Contains(ids, m.MessageID) }
	for _, m := range w.queues["orders"] {
		if back(m) {
			w.queues[deadQueue.Name] = append(w.queues[deadQueue.Name], m)
		}
	}
	w.queues["orders"] = slices.DeleteFunc(w.queues["orders"], back)
}

// judged returns a job of eight messages, and a newcomer, of which four are done, one has failed and two are dead letters again.
func (w *ward) judged(t *testing.T) jobs.Job {
	t.Helper()
	w.die(numbered("fate", 8)...)
	batches := 0
	w.each = func(context.Context) {
		if batches++; batches != 2 {
			return
		}
		w.diesAgain("fate-1", "fate-6")
		w.die("newcomer")
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, id := range []string{"fate-0", "fate-1", "fate-2", "fate-3", "fate-4"} {
			w.markers[id] = dedup.Done
		}
		w.markers["fate-5"] = dedup.Failed
	}
	id := w.begin(t, move.Request{Whole: true})
	return w.until(t, id, func(j jobs.Job) bool { return j.Aftermath != nil })
}

func TestWhatBecameOfAJobsMessagesIsToldOfEach(t *testing.T) {
	w := newWard(t)
	job := w.judged(t)
	a := job.Aftermath
	if a.Back == nil || *a.Back != 2 || job.Arrived == nil || *job.Arrived != 3 || a.Total("back") != 2 || a.Total("done") != 4 || a.Total("failed") != 1 || a.Total("none") != 1 {
		t.Errorf("%+v, arrived %d", a, *job.Arrived)
	}
	items, err := w.JobItems(t.Context(), operator, job.ID, 0, 100)
	admintest.Must(t, err)
	for i, want := range []string{"done", "back", "done", "done", "done", "failed", "back", "none"} {
		if items[i].Became != want || items[i].Outcome != "moved" {
			t.Errorf("%s: %q, %q", items[i].ID, items[i].Outcome, items[i].Became)
		}
	}
	some, err := w.JobItemsThat(t.Context(), operator, job.ID, "back", 2, 100)
	admintest.Must(t, err)
	if len(some) != 1 || some[0].ID != "fate-6" {
		t.Errorf("those that are back behind number 2: %+v", some)
	}
	if _, err := w.JobItemsThat(t.Context(), operator, job.ID, "odd", 0, 100); dedup.KindOf(err) != dedup.Invalid {
		t.Errorf("an outcome that does not exist: %v", err)
	}
	list, err := w.Jobs(t.Context(), operator, 1)
	admintest.Must(t, err)
	if list[0].Aftermath == nil || list[0].Aftermath.Total("back") != 2 {
		t.Errorf("the list has %+v", list[0].Aftermath)
	}
}

func TestWhatCameBackOfAJobCanBePlannedAlone(t *testing.T) {
	w := newWard(t)
	job := w.judged(t)
	if _, _, err := w.BackOf(t.Context(), operator, job.ID); dedup.KindOf(err) != dedup.Conflict {
		t.Errorf("without a look: %v", err)
	}
	scan := w.look(t)
	id, refs, err := w.BackOf(t.Context(), operator, job.ID)
	admintest.Must(t, err)
	if id != scan.ID || len(refs) != 2 || refs[0] != scan.Letters[0].Ref || refs[1] != scan.Letters[1].Ref {
		t.Errorf("%d of scan %s", len(refs), id)
	}
	if _, _, err := w.BackOf(t.Context(), admintest.Caller("vera", auth.Viewer), job.ID); dedup.KindOf(err) != dedup.Forbidden {
		t.Errorf("a viewer: %v", err)
	}
	w.die("later")
	w.clock.Advance(time.Second)
	w.until(t, w.begin(t, move.Request{Scan: id, Refs: []string{scan.Letters[2].Ref}}), in(jobs.JobDone))
	if _, _, err := w.BackOf(t.Context(), operator, job.ID); dedup.KindOf(err) != dedup.Conflict {
		t.Errorf("with a look from before another job: %v", err)
	}
	w.mu.Lock()
	w.markers = map[string]dedup.State{}
	w.mu.Unlock()
	w.look(t) // a plan from the look before would leave them: it saw that their work was done
	id, refs, err = w.BackOf(t.Context(), operator, job.ID)
	admintest.Must(t, err)
	again := w.until(t, w.begin(t, move.Request{Scan: id, Refs: refs}), in(jobs.JobDone))
	if left := w.holds(deadQueue.Name); again.Moved != 2 || !slices.Equal(left, []string{"later"}) {
		t.Errorf("%+v, left %q", again.Counts, left)
	}
}

// TestACanaryOfASchemeWithoutStatesIsJudgedByWhatCameBack: a marker that was written before the work tells nothing of it.
func TestACanaryOfASchemeWithoutStatesIsJudgedByWhatCameBack(t *testing.T) {
	for name, c := range map[string]struct {
		back  []string
		state jobs.JobState
		want  jobs.CanaryVerdict
	}{
		"nothing came back": {nil, jobs.JobDone, jobs.CanaryVerdict{Sent: 3, Unknown: 3, Good: true}},
		"one came back":     {[]string{"first-1"}, jobs.JobStopped, jobs.CanaryVerdict{Sent: 3, Unknown: 2, Back: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWard(t, func(d *jobs.DeadLettersDeps) {
				d.Stores[0].Scheme = dedup.Scheme{Preset: "redis-timestamp", Kind: "redis-string", Mark: "before", OnInFlight: "ack", OnFail: "keep"}
				var err error
				d.Preflight, err = preflight.New(d.Pipelines, d.Stores)
				admintest.Must(t, err)
			})
			w.die(numbered("first", 20)...)
			batches := 0
			w.each = func(context.Context) {
				if batches++; batches > 1 {
					return
				}
				w.diesAgain(c.back...)
				w.mu.Lock()
				defer w.mu.Unlock()
				for _, id := range numbered("first", 3) {
					w.markers[id] = dedup.Present
				}
			}
			job := w.until(t, w.begin(t, move.Request{Whole: true, Canary: 3}), in(jobs.JobPaused, jobs.JobDone, jobs.JobStopped))
			if job.Canary == nil || job.State != c.state {
				t.Fatalf("%s %q %+v", job.State, job.Why, job.Canary)
			}
			got := *job.Canary
			got.At, got.Text, got.BackBy = time.Time{}, "", ""
			if got != c.want || got.Done+got.Failed+got.Processing+got.None+got.Skipped+got.Unknown+got.Back != got.Sent {
				t.Errorf("%+v: %s", got, job.Canary.Text)
			}
		})
	}
}

// TestAMessageOfACanaryThatCameBackIsCountedOnce: its marker says something, too.
func TestAMessageOfACanaryThatCameBackIsCountedOnce(t *testing.T) {
	w := newWard(t)
	w.die(numbered("first", 20)...)
	batches := 0
	w.each = func(context.Context) {
		if batches++; batches > 1 {
			return
		}
		w.diesAgain("first-1")
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, id := range numbered("first", 3) {
			w.markers[id] = dedup.Failed
		}
	}
	job := w.until(t, w.begin(t, move.Request{Whole: true, Canary: 3}), in(jobs.JobStopped))
	if c := job.Canary; c.Sent != 3 || c.Back != 1 || c.Failed != 2 {
		t.Errorf("%+v", c)
	}
}

func TestAJobSaysUntilWhenItsCanaryIsWatched(t *testing.T) {
	w := newWard(t, func(d *jobs.DeadLettersDeps) { d.Watch = time.Hour })
	w.die(numbered("first", 20)...)
	id := w.begin(t, move.Request{Whole: true, Canary: 3})
	job := w.until(t, id, in(jobs.JobWatching))
	if want := w.clock.Now().Add(time.Hour); !job.WatchedUntil.Equal(want) {
		t.Errorf("until %v instead of %v", job.WatchedUntil, want)
	}
	admintest.Must(t, w.CancelJob(t.Context(), ada, id))
	w.until(t, id, in(jobs.JobCancelled))
}

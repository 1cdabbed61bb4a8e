package jobs_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/admintest"
)

// A corpse is a dead letter of a test. Those of one id and one variant are equal in everything, so that they have one reference.
type corpse struct{ id, variant int }

func (c corpse) name() string { return fmt.Sprintf("copy-%d", c.id) }

// dieAs puts dead letters into the dead-letter queue in place of what is there.
func (w *ward) dieAs(all []corpse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent, died := time.Now().Truncate(time.Hour), time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	w.queues = map[string][]message.Message{}
	for _, c := range all {
		m := message.Message{Body: fmt.Appendf(nil, `{"try":%d}`, c.variant)}
		m.MessageID, m.Timestamp = c.name(), sent
		m.Headers = map[string]any{"x-death": []any{map[string]any{"queue": "orders", "reason": "rejected", "count": int64(1), "time": died}}}
		w.queues[deadQueue.Name] = append(w.queues[deadQueue.Name], m)
	}
}

// sent counts what is at the target, by id and variant.
func (w *ward) sent() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := map[string]int{}
	for _, m := range w.queues["orders"] {
		n[m.MessageID+" "+string(m.Body)]++
	}
	return n
}

// going counts what a plan says that it will send, likewise.
func (w *ward) going(t *testing.T, p move.Plan, scan deadletter.Scan) map[string]int {
	t.Helper()
	text := map[string]string{}
	for _, listed := range scan.Letters {
		l, err := w.Letter(t.Context(), ada, scan.ID, listed.Ref) // a list has no bodies
		admintest.Must(t, err)
		text[l.Ref] = l.MessageID + " " + string(l.Body)
	}
	n := map[string]int{}
	for _, l := range p.Letters {
		if l.Choice != preflight.LeaveOut {
			n[text[l.Ref]]++
		}
	}
	return n
}

// toItsEnd lets a job go on if it is paused after its first messages, after another start of the program if so wished, with the markers
// as they are said to be then.
func (w *ward) toItsEnd(t *testing.T, id string, restart bool, mark func()) jobs.Job {
	t.Helper()
	kept := func(job jobs.Job) bool { // its end, too: until then it has the queue
		kept, _, err := w.db.Jobs().Job(t.Context(), id)
		admintest.Must(t, err)
		return kept.State == job.State && in(jobs.JobPaused, jobs.JobDone, jobs.JobStopped)(job)
	}
	job := w.until(t, id, kept)
	if job.State != jobs.JobPaused {
		return job
	}
	mark()
	if restart {
		admintest.Must(t, w.Close(context.Background()))
		w.deadLetters = newDeadLetters(w.deps)
	}
	for w.ResumeJob(t.Context(), ada, id) != nil { // it is coming to rest
		w.until(t, id, in(jobs.JobPaused))
	}
	return w.until(t, id, func(job jobs.Job) bool { return job.State != jobs.JobPaused && kept(job) })
}

// TestACopyThatAPlanLeavesOutIsNeverSent: copies of a message are told apart where they differ, and counted where they do not, across
// the first messages, batches, pauses and other starts of the program, whatever becomes of the markers meanwhile.
func TestACopyThatAPlanLeavesOutIsNeverSent(t *testing.T) {
	w := newWard(t, func(d *jobs.DeadLettersDeps) { d.Watch = 10 * time.Millisecond })
	left := 0
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) corpse {
			return corpse{rapid.IntRange(0, 5).Draw(rt, "id"), rapid.IntRange(0, 1).Draw(rt, "variant")}
		}), 2, 16).Draw(rt, "letters")
		after := rapid.SampledFrom([]dedup.State{"", dedup.Done, dedup.Failed}).Draw(rt, "marker after the first messages")
		restart, canary := rapid.Bool().Draw(rt, "restart"), rapid.IntRange(0, 6).Draw(rt, "canary")
		picked := rapid.SliceOfN(rapid.Bool(), 16, 16).Draw(rt, "picked")
		w.dieAs(all)
		w.mu.Lock()
		w.markers = map[string]dedup.State{}
		w.mu.Unlock()
		scan := w.look(t)
		req := move.Request{Scan: scan.ID, Canary: canary, Filter: "id:copy-*"}
		if picked[0] {
			req.Filter = ""
			for i, l := range scan.Letters {
				if picked[i] {
					req.Refs = append(req.Refs, l.Ref)
				}
			}
		}
		p, err := w.planMove(t, ada, req)
		admintest.Must(t, err)
		want := w.going(t, p, scan)
		left += p.Matching - p.Going()
		id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
		admintest.Must(t, err)
		job := w.toItsEnd(t, id, restart, func() {
			if after == "" {
				return
			}
			for sent := range w.sent() {
				w.mu.Lock()
				w.markers[sent[:len("copy-0")]] = after
				w.mu.Unlock()
			}
		})
		if got := w.sent(); !maps.Equal(got, want) || job.State != jobs.JobDone || job.Moved != int64(p.Going()) {
			rt.Errorf("%s %q: sent %v, planned %v", job.State, job.Why, got, want)
		}
	})
	if left == 0 {
		t.Error("no copy was left out: the test proves nothing")
	}
}

func TestAJobThatFindsLessThanWasSelectedSaysSo(t *testing.T) {
	w := newWard(t)
	w.die(numbered("picked", 20)...)
	scan := w.look(t)
	req := move.Request{Scan: scan.ID}
	for _, l := range scan.Letters[:10] {
		req.Refs = append(req.Refs, l.Ref)
	}
	w.take(deadQueue.Name, 3) // somebody else has them now
	job := w.until(t, w.begin(t, req), in(jobs.JobStopped))
	if want := "3 of the selected messages could not be found in the queue any more: taken by somebody else, or expired"; job.Moved != 7 || job.Why != want {
		t.Errorf("%+v: %q", job.Counts, job.Why)
	}
}

// A shyBroker counts one message fewer as ready than it hands out.
type shyBroker struct{ *ward }

func (b shyBroker) Ready(ctx context.Context, ref dedup.QueueRef) (int64, error) {
	n, err := b.ward.Ready(ctx, ref)
	return n - 1, err
}

// TestAJobOfPickedMessagesTakesAllThatTheLookHasSeen: the last of them must not stay behind because it was not counted as ready.
func TestAJobOfPickedMessagesTakesAllThatTheLookHasSeen(t *testing.T) {
	w := newWard(t, func(d *jobs.DeadLettersDeps) {
		d.Brokers[0].Mover = shyBroker{d.Brokers[0].Mover.(*ward)}
	})
	w.die(numbered("seen", 30)...)
	scan := w.look(t)
	if job := w.until(t, w.begin(t, move.Request{Scan: scan.ID, Refs: []string{scan.Letters[29].Ref}}), in(jobs.JobDone)); job.Limit != 29 || job.Moved != 1 {
		t.Errorf("%q %+v, a limit of %d", job.Why, job.Counts, job.Limit)
	}
}

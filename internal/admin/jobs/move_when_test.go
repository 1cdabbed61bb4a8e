package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// endings is a store whose markers end.
type endings struct {
	now     func() time.Time
	markers map[string]*dedup.Sighting
}

func (e *endings) Find(_ context.Context, ids []string) ([]*dedup.Sighting, error) {
	found := make([]*dedup.Sighting, len(ids))
	for i, id := range ids {
		if m := e.markers[id]; m != nil && m.ExpiresMillis > e.now().UnixMilli() {
			found[i] = m
		}
	}
	return found, nil
}

// set gives a message a marker that ends after a while.
func (e *endings) set(id string, state dedup.State, in time.Duration) {
	e.markers[id] = &dedup.Sighting{Marker: dedup.Marker{ID: id, Key: "msg:" + id, State: state}, ExpiresMillis: e.now().Add(in).UnixMilli()}
}

func wardOfEndings(t *testing.T) (*ward, *endings) {
	t.Helper()
	e := &endings{markers: map[string]*dedup.Sighting{}}
	w := newWard(t, func(d *jobs.DeadLettersDeps) {
		d.Stores[0].Finder, e.now = e, d.Now
		var err error
		d.Preflight, err = preflight.New(d.Pipelines, d.Stores)
		admintest.Must(t, err)
	})
	return w, e
}

// TestAPlanForetellsEachMessageForWhenItsRateSendsIt: at 2 per second the last of 230 messages goes two minutes after the first, and markers
// end meanwhile.
func TestAPlanForetellsEachMessageForWhenItsRateSendsIt(t *testing.T) {
	for _, rate := range []float64{2, 20, 0, -1} {
		t.Run(fmt.Sprintf("%g per second", rate), func(t *testing.T) {
			w, e := wardOfEndings(t)
			ids := numbered("timed", 230)
			w.die(ids...)
			for i, id := range ids {
				e.set(id, []dedup.State{dedup.Processing, dedup.Done}[i%2], time.Duration(30*(1+i/2%3))*time.Second)
			}
			p, err := w.planMove(t, ada, move.Request{Scan: w.look(t).ID, Filter: "reason:rejected", Rate: rate})
			admintest.Must(t, err)
			each := map[float64]time.Duration{2: 500 * time.Millisecond, 20: 50 * time.Millisecond, 0: 2 * time.Millisecond, -1: 200 * time.Microsecond}[rate]
			at, stale, edges, later := p.Made, 0, 0, 0
			for _, l := range p.Letters {
				m := e.markers[l.ID]
				ends := time.UnixMilli(m.ExpiresMillis)
				off := at.Sub(p.Made) / 10
				predict := func(t time.Time) preflight.Class {
					return preflight.Predict(scheme, m, preflight.LetterFacts{ID: l.ID, Born: p.Made, At: t}).Class
				}
				want := predict(at)
				if soon, late := predict(at.Add(-off)), predict(at.Add(off+30*time.Second)); soon != late { // about when its marker ends: the class that warns
					edges++
					want = map[dedup.State]preflight.Class{dedup.Processing: preflight.ClassBlocks, dedup.Done: preflight.ClassMayRunTwice}[m.State]
					if said := "its marker ends at " + ends.UTC().Format(time.RFC3339); !strings.Contains(l.Prediction.Why(), said) || !strings.Contains(l.Prediction.Why(), "about when") {
						t.Errorf("%s: %s", l.ID, l.Prediction.Why())
					}
				}
				if want == preflight.ClassRuns || want == preflight.ClassMayRunTwice {
					later++
				}
				if l.Prediction.Class != want || p.Classes[want] == 0 {
					stale++
				}
				if l.Choice != preflight.LeaveOut { // what is left out takes no time
					at = at.Add(each)
				}
			}
			if stale > 0 || len(p.Letters) != 230 || edges == 0 || later == 0 {
				t.Errorf("%d of %d are foretold as if they were sent at another time; %d at an edge, %d after it", stale, len(p.Letters), edges, later)
			}
		})
	}
}

// TestWhatFollowsTheCanaryIsForetoldForAfterItsWatch: the watch lasts for longer than the marker.
func TestWhatFollowsTheCanaryIsForetoldForAfterItsWatch(t *testing.T) {
	w, e := wardOfEndings(t)
	w.deps.Watch = 10 * time.Minute
	admintest.Must(t, w.Close(context.Background()))
	w.deadLetters = newDeadLetters(w.deps)
	w.die("first", "second")
	e.set("first", dedup.Done, 5*time.Minute)
	e.set("second", dedup.Done, 5*time.Minute)
	p, err := w.planMove(t, ada, move.Request{Scan: w.look(t).ID, Filter: "reason:rejected", Canary: 1})
	admintest.Must(t, err)
	if a, b := p.Letters[0].Prediction.Class, p.Letters[1].Prediction.Class; a != preflight.ClassSkipped || b != preflight.ClassMayRunTwice {
		t.Errorf("the first %s, the second %s", a, b)
	}
}

// TestAMessageThatTurnsInMidJobIsNeitherDoneTwiceNorLeftInSilence: the marker of done work ends between the plan and the job.
func TestAMessageThatTurnsInMidJobIsNeitherDoneTwiceNorLeftInSilence(t *testing.T) {
	keep := map[preflight.Class]preflight.Choice{preflight.ClassMayRunTwice: preflight.KeepAsIs}
	leave := map[preflight.Class]preflight.Choice{preflight.ClassSkipped: preflight.LeaveOut}
	for name, c := range map[string]struct {
		state   dedup.State
		choices map[preflight.Class]preflight.Choice
		picked  bool
		want    jobs.JobState
		moved   int64
		told    bool
	}{
		"a skipped one of a filter":                     {dedup.Done, nil, false, jobs.JobStopped, 4, true},
		"a skipped one that was picked":                 {dedup.Done, nil, true, jobs.JobStopped, 4, true},
		"a skipped one that was to be left out":         {dedup.Done, leave, false, jobs.JobStopped, 4, true},
		"a skipped one where what may run twice may go": {dedup.Done, keep, false, jobs.JobDone, 5, false},
		"one that blocked, of a filter":                 {dedup.Processing, nil, false, jobs.JobDone, 5, false},
		"one that blocked and was left out by the plan": {dedup.Processing, nil, true, jobs.JobDone, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, e := wardOfEndings(t)
			w.die("plain-0", "plain-1", "plain-2", "plain-3", "turns")
			e.set("turns", c.state, 10*time.Minute)
			scan := w.look(t)
			req := move.Request{Scan: scan.ID, Filter: "reason:rejected", Choices: c.choices}
			if c.picked {
				for req.Filter = ""; len(req.Refs) < 5; {
					req.Refs = append(req.Refs, scan.Letters[len(req.Refs)].Ref)
				}
			}
			p, err := w.planMove(t, ada, req)
			admintest.Must(t, err)
			w.once(func() { w.clock.Advance(11 * time.Minute) }) // after the first batch of four
			id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
			admintest.Must(t, err)
			job := w.until(t, id, in(jobs.JobDone, jobs.JobStopped, jobs.JobPaused))
			if job.State != c.want || job.Moved != c.moved {
				t.Errorf("%s %q, %d moved", job.State, job.Why, job.Moved)
			}
			if !c.told {
				return
			}
			if len(job.Failures) != 1 || job.Failures[0].Class != preflight.ClassMayRunTwice || !strings.Contains(job.Failures[0].Text, "may run twice by now") || !strings.Contains(job.Why, "1 message was left") {
				t.Errorf("%q, failures %+v", job.Why, job.Failures)
			}
		})
	}
}

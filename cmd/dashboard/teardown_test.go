package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/requeue"
	"dedup-dashboard/internal/config"
)

// TestStoppingWaitsForTheAnswersToWhatAJobHasSent: a job that is cut short does not know whether its last messages are at their target.
func TestStoppingWaitsForTheAnswersToWhatAJobHasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var td teardown
		drained := false
		td.addLonger("moves of dead letters", jobs.CloseWithin, func(ctx context.Context) error {
			select {
			case <-time.After(requeue.DefaultDrain + closing):
				drained = true
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		var log output
		if err := td.run(newLog(&log)); err != nil || !drained {
			t.Errorf("drained %v, %v", drained, err)
		}
	})
	cfg, err := config.Load(writeConfig(t, "127.0.0.1:0", t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	var out output
	app, err := New(t.Context(), cfg, newLog(&out), &out)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := app.teardown.run(app.log); err != nil {
			t.Error(err)
		}
	}()
	for _, s := range app.teardown.steps {
		if s.name == "moves of dead letters" && s.bound < requeue.DefaultDrain+closing || s.name == "journal" && s.bound != stepBound {
			t.Errorf("the step %q has %v", s.name, s.bound)
		}
	}
}

// closing is how long a program may take to end its connections to a broker in alarm and to write down how far a job came.
const closing = 8 * time.Second

package jobs_test

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// TestAPlanSendsOfCopiesThoseThatItsJobSends: what the first does to the marker counts, and only if it goes.
func TestAPlanSendsOfCopiesThoseThatItsJobSends(t *testing.T) {
	clearBlocks := map[preflight.Class]preflight.Choice{preflight.ClassBlocks: preflight.ClearFirst}
	for name, c := range map[string]struct {
		lay     func(*ward)
		choices map[preflight.Class]preflight.Choice
		moved   int64
	}{
		"both markers would be cleared first": {func(w *ward) { w.markers["twin"] = dedup.Processing }, clearBlocks, 1},
		"the first was requeued too often":    {func(w *ward) { w.markRequeued(0, 3) }, nil, 1},
		"the first has nowhere to go":         {func(w *ward) { w.queues[deadQueue.Name][0].Headers = map[string]any{} }, nil, 1},
		"both go, as unknown ones are kept":   {func(*ward) {}, map[preflight.Class]preflight.Choice{preflight.ClassUnknown: preflight.KeepAsIs}, 2},
	} {
		for _, way := range []string{"whole", "filter", "picked", "picked, in two batches"} {
			t.Run(name+", "+way, func(t *testing.T) {
				w := newWard(t, func(d *jobs.DeadLettersDeps) {
					d.Clear = &clearer{}
					d.Pipelines[0].Queues = []string{"orders", "other"} // else what tells no queue goes to the only one
				})
				w.facts["other"] = dedup.Queue{QueueRef: dedup.QueueRef{Vhost: "/", Name: "other"}, Type: "classic", State: "running", Durable: true}
				w.die("twin")
				if strings.HasSuffix(way, "batches") {
					w.die(numbered("between", 5)...)
				}
				w.die("twin")
				w.mu.Lock()
				c.lay(w)
				w.mu.Unlock()
				scan := w.look(t)
				req := move.Request{Scan: scan.ID, Choices: c.choices}
				switch way {
				case "whole":
					req.Whole, req.Scan = true, ""
				case "filter":
					req.Filter = "id:twin"
				default:
					req.Refs = []string{scan.Letters[0].Ref, scan.Letters[len(scan.Letters)-1].Ref}
				}
				p, err := w.planMove(t, ada, req)
				admintest.Must(t, err)
				if int64(p.Going()) != c.moved || len(req.Refs) > 0 && p.UpTo != c.moved {
					t.Errorf("%d are going, up to %d, %v; want %d", p.Going(), p.UpTo, p.Classes, c.moved)
				}
				for _, g := range p.Guards {
					if strings.Contains(g.Text, "share their id") != (c.moved == 2) && strings.Contains(g.Text, "share") {
						t.Errorf("the plan says: %s", g.Text)
					}
				}
				id, err := w.StartJob(t.Context(), ada, jobs.StartRequest{PlanID: p.ID, Reason: why, Confirm: p.Confirm})
				admintest.Must(t, err)
				if job := w.until(t, id, in(jobs.JobDone)); job.Moved != c.moved {
					t.Errorf("planned %d, moved %+v", c.moved, job.Counts)
				}
			})
		}
	}
}

package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/dedup"
)

type fixedSnapshot struct{ snap *dedup.Snapshot }

func (f fixedSnapshot) Snapshot() *dedup.Snapshot { return f.snap }

type jobList func(ctx context.Context, limit int) ([]jobs.JobSummary, error)

func (l jobList) Jobs(ctx context.Context, limit int) ([]jobs.JobSummary, error) {
	return l(ctx, limit)
}

func TestAlertRulesKnowOfOurOwnRequeuesAndNotWhoRanThem(t *testing.T) {
	ran := []jobs.JobSummary{{Do: admin.Requeue, Pipeline: "orders", Queue: "orders.dlq", By: "ann", Started: time.Now(), Counts: jobs.Counts{Moved: 1200}}}
	observed := &dedup.Snapshot{Pipelines: []dedup.PipelineStatus{{Pipeline: dedup.Pipeline{Name: "payments"}}, {Pipeline: dedup.Pipeline{Name: "orders"}}}}
	for name, tt := range map[string]struct {
		snap *dedup.Snapshot
		err  error
		want int
	}{
		"a job ran":                {observed, nil, 1},
		"jobs cannot be read":      {observed, errors.New("the disk is gone"), 0},
		"nothing was observed yet": {nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			own := withOwnJobs{observed: fixedSnapshot{tt.snap}, log: slog.New(slog.DiscardHandler), journal: jobList(func(ctx context.Context, _ int) ([]jobs.JobSummary, error) {
				if _, bounded := ctx.Deadline(); !bounded {
					t.Error("the journal may keep the rules waiting for ever")
				}
				return slices.Clone(ran), tt.err
			})}
			snap := own.Snapshot()
			if tt.snap == nil {
				if snap != nil {
					t.Errorf("%+v of nothing", snap)
				}
				return
			}
			if events := snap.Pipelines[1].Events; len(events) != tt.want || tt.want > 0 && (events[0].Count != 1200 || strings.Contains(events[0].Text, "ann")) {
				t.Errorf("events %+v", events)
			}
			if len(snap.Pipelines[0].Events) > 0 || len(observed.Pipelines[1].Events) > 0 {
				t.Error("another pipeline, or the snapshot that was published, has them too")
			}
			tt.err = errors.New("the disk is gone")
			if again := own.Snapshot(); len(again.Pipelines[1].Events) != tt.want {
				t.Errorf("while none can be read: %+v", again.Pipelines[1].Events)
			}
		})
	}
}

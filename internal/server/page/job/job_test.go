package job

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/alerts/cause"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/lab/demo"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestARequeueExplainsNoMoreDuplicatesThanItSentMessages(t *testing.T) {
	for name, tt := range map[string]struct {
		sent jobs.Counts
		want cause.Kind
		says string
	}{
		"as many as there are duplicates": {jobs.Counts{Moved: 600}, cause.OwnJob, "that can explain up to 600 of 600 duplicates"},
		"few":                             {jobs.Counts{Moved: 7}, cause.Unexplained, "No event explains the duplicates."},
		"as many, without an answer":      {jobs.Counts{Moved: 7, Unknown: 593}, cause.OwnJob, "that can explain up to 600 of 600 duplicates"},
		"none":                            {jobs.Counts{Left: 600}, cause.Unexplained, "No event explains the duplicates."},
	} {
		t.Run(name, func(t *testing.T) {
			rate := dedup.Exact(dedup.Measured, dedup.Ratio, 0.06, noon, "a test")
			rate.N, rate.Window = 10_000, 15*time.Minute
			p := dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Limits: dedup.DefaultLimits()},
				Windows: []dedup.WindowFigures{{Window: rate.Window, DuplicateRate: rate, Duplicates: dedup.Exact(dedup.Measured, dedup.Count, 600, noon, "a test")}}}
			snap := (&dedup.Snapshot{Pipelines: []dedup.PipelineStatus{p}}).With(Events([]jobs.JobSummary{
				{Do: admin.Requeue, Pipeline: "orders", Queue: "orders.dlq", Started: noon.Add(-time.Minute), Counts: tt.sent}}))
			c, ok := show.LikelyCause(snap, show.Judged{PipelineStatus: &snap.Pipelines[0]}, "")
			if said := c.Sentence(time.UTC); !ok || c.Kind != tt.want || !strings.Contains(said, tt.says) {
				t.Errorf("%s: %q, want %s", c.Kind, said, tt.want)
			}
		})
	}
}

func TestARequeueOfOursIsAnEventOfItsPipelineAlone(t *testing.T) {
	snap := demo.Scene("explained", noon)
	jobs := []jobs.JobSummary{
		{Do: admin.Requeue, Pipeline: "disputed", Queue: "disputed.dlq", By: "ann", Started: noon.Add(-time.Minute), Counts: jobs.Counts{Moved: 1200}},
		{Do: admin.Discard, Pipeline: "disputed", Queue: "disputed.dlq", Started: noon, Counts: jobs.Counts{Moved: 3}},
		{Do: admin.Requeue, Pipeline: "disputed", Queue: "disputed.dlq", Started: noon, Counts: jobs.Counts{Left: 5}},
	}
	before, _ := snap.Pipeline("disputed")
	had := len(before.Events)
	joined := snap.With(Events(jobs))
	after, _ := joined.Pipeline("disputed")
	added := after.Events[had:]
	if len(before.Events) != had || len(added) != 3 {
		t.Fatalf("%d events before, %d added", len(before.Events), len(added))
	}
	if want := (dedup.Event{At: noon.Add(-time.Minute), Kind: "job", Text: "Requeue of 1,200 messages of disputed.dlq by ann", Count: 1200}); added[0] != want || added[1].Kind != "action" || added[2].Kind != "action" {
		t.Errorf("added %+v", added)
	}
}

func TestOfAJobThatWasInterruptedCountsAndCopiesAreBoundsThatHold(t *testing.T) {
	j := jobs.Job{State: jobs.JobDone, Resumed: 1, Counts: jobs.Counts{Moved: 9104}, Extent: move.Extent{Messages: 10_000}}
	body, err := json.Marshal(jobOf(j))
	if err != nil || !strings.Contains(string(body), `"moved":9104,"moved_at_least":true`) {
		t.Errorf("%v: %s", err, body)
	}
	if body, _ = json.Marshal(jobOf(jobs.Job{Counts: jobs.Counts{Moved: 9104}})); !strings.Contains(string(body), `"moved_at_least":false`) {
		t.Errorf("without an interruption: %s", body)
	}
	said := ""
	for _, n := range jobNotes(j) {
		said += n.Text.Short
	}
	if !strings.Contains(said, "if the broker itself was killed") || !strings.Contains(said, "up to 9,104") {
		t.Errorf("of copies: %q", said)
	}
	for asked, want := range map[int]string{9895: "9,895 messages", 9000: "9,000 of 9,888 messages"} {
		j.Moved = 9888
		if got := askedText(&jobs.Aftermath{Asked: asked}, j); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheStateOfAJobIsGreenOnlyIfNothingCameBackOrFailed(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	after := func(result string) *jobs.Aftermath {
		return &jobs.Aftermath{Back: number(0), Results: map[preflight.Class]map[string]int{preflight.ClassRuns: {result: 2, "done": 3}}}
	}
	unseen := func(result string, arrived *int64) jobs.JobSummary {
		return jobs.JobSummary{State: jobs.JobDone, Do: admin.Requeue, Counts: jobs.Counts{Moved: 5}, Arrived: arrived, Aftermath: &jobs.Aftermath{Results: map[preflight.Class]map[string]int{preflight.ClassRuns: {result: 5}}}}
	}
	seen := func(job jobs.JobSummary) jobs.JobSummary {
		job.Aftermath.Back = number(0)
		return job
	}
	moved := jobs.Counts{Moved: 5}
	for name, c := range map[string]struct {
		job        jobs.JobSummary
		word, tier string
	}{
		"all is done":                  {jobs.JobSummary{State: jobs.JobDone, Do: admin.Requeue, Counts: moved, Aftermath: after("done")}, "done", dedup.Normal.String()},
		"what became is not known yet": {jobs.JobSummary{State: jobs.JobDone, Do: admin.Requeue, Counts: moved}, "done", dedup.TierUnknown.String()},
		"nothing was moved":            {jobs.JobSummary{State: jobs.JobDone, Do: admin.Requeue}, "done", dedup.Normal.String()},
		"a discard has no consumers":   {jobs.JobSummary{State: jobs.JobDone, Do: admin.Discard, Counts: moved}, "done", dedup.Normal.String()},
		"two came back":                {jobs.JobSummary{State: jobs.JobDone, Do: admin.Requeue, Counts: moved, Aftermath: after("back")}, "done, 2 dead again", dedup.Severe.String()},
		"two failed":                   {jobs.JobSummary{State: jobs.JobDone, Do: admin.Requeue, Counts: moved, Aftermath: after("failed")}, "done, 2 failed", dedup.Severe.String()},
		"one was refused":              {jobs.JobSummary{State: jobs.JobDone, Do: admin.Discard, Counts: jobs.Counts{Moved: 1, Rejected: 1}}, "done", dedup.Warning.String()},
		"cancelled, and two came back": {jobs.JobSummary{State: jobs.JobCancelled, Do: admin.Requeue, Counts: moved, Aftermath: after("back")}, "cancelled, 2 dead again", dedup.Warning.String()},
		"all is done, and nothing came into the queue at all":         {unseen("done", number(0)), "done", dedup.Normal.String()},
		"all is done, and what came into the queue was not looked at": {unseen("done", number(5)), "done", dedup.TierUnknown.String()},
		"all is done, and the queue could not be read":                {unseen("done", nil), "done", dedup.TierUnknown.String()},
		"no marker is there, and the queue was not looked at":         {unseen("none", number(5)), "done", dedup.TierUnknown.String()},
		"no marker tells, though nothing came back":                   {seen(unseen("unknown", number(5))), "done", dedup.TierUnknown.String()},
		"no marker is there, though nothing came back":                {seen(unseen("none", number(0))), "done", dedup.TierUnknown.String()},
		"none has an id, though nothing came back":                    {jobs.JobSummary{State: jobs.JobDone, Do: admin.Requeue, Counts: moved, Aftermath: &jobs.Aftermath{Back: number(0)}}, "done", dedup.TierUnknown.String()},
		"some are under way or stuck":                                 {jobs.JobSummary{State: jobs.JobDone, Do: admin.Requeue, Counts: moved, Aftermath: after("processing")}, "done", dedup.Warning.String()},
		"some have no marker, but none came back and others are done": {jobs.JobSummary{State: jobs.JobDone, Do: admin.Requeue, Counts: moved, Aftermath: after("none")}, "done", dedup.Normal.String()},
		"running, what came is no part":                               {jobs.JobSummary{State: jobs.JobRunning, Do: admin.Requeue, Counts: moved}, "running", dedup.TierUnknown.String()},
	} {
		if word, tier := jobOutcome(c.job); word != c.word || tier != c.tier {
			t.Errorf("%s: %q, %s", name, word, tier)
		}
	}
}

func TestWhatArrivedIsToldApartByWhoseItIs(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	for want, c := range map[string]struct{ arrived, back *int64 }{
		"": {nil, nil},
		"No message came into the dead-letter queue since the job began.":                                                                      {number(0), number(0)},
		"1 message came into the dead-letter queue since the job began; it is no part of it.":                                                  {number(1), number(0)},
		"150 messages came into the dead-letter queue since the job began: 147 of this job that are dead again, and 3 that are no part of it.": {number(150), number(147)},
		"147 messages came into the dead-letter queue since the job began: messages of this job that are dead again.":                          {number(147), number(147)},
		"2 messages came into the dead-letter queue since the job began; whether any of them are of this job could not be seen.":               {number(2), nil},
	} {
		if got := arrivedText(jobs.Job{Arrived: c.arrived, Aftermath: &jobs.Aftermath{Back: c.back}}); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

func TestACanaryThatIsWatchedSaysForHowLongAndInGoodGrammar(t *testing.T) {
	now := time.Now()
	job := func(n int, state jobs.JobState) jobs.Job {
		return jobs.Job{State: state, WatchedUntil: now.Add(24 * time.Second), Plan: move.Plan{Request: move.Request{Canary: n}}}
	}
	for want, j := range map[string]jobs.Job{
		"The first message was sent, and is being watched. The rest waits for the verdict.":      job(1, jobs.JobWatching),
		"The first 5 messages were sent, and are being watched. The rest waits for the verdict.": job(5, jobs.JobWatching),
		"The first message goes ahead, and the rest waits for the verdict.":                      job(1, jobs.JobCanary),
		"The first 5 messages go ahead, and the rest waits for the verdict.":                     job(5, jobs.JobCanary),
	} {
		v := canaryView(j, now)
		left := "Watched for 24 s more, unless one fails before."
		if j.State != jobs.JobWatching {
			left = ""
		}
		if v.Text.Short != want || v.Left != left {
			t.Errorf("%q, %q", v.Text.Short, v.Left)
		}
	}
	late := job(5, jobs.JobWatching)
	if v := canaryView(late, now.Add(time.Minute)); v.Left != "The verdict is due." {
		t.Errorf("%q", v.Left)
	}
}

func TestTheHeadingOfAJobClaimsNoMoreThanIsKnown(t *testing.T) {
	plan := move.Plan{Request: move.Request{Do: admin.Requeue, Whole: true}}
	whole, filter := move.Extent{Messages: 1000}, move.Extent{Messages: 300, AtMost: true}
	for want, j := range map[string]jobs.Job{
		"Requeueing 1,000 messages":               {Plan: plan, State: jobs.JobRunning, Limit: 1000, Extent: whole, Counts: jobs.Counts{Moved: 10}},
		"Requeued 1,000 messages":                 {Plan: plan, State: jobs.JobDone, Limit: 1000, Extent: whole, Counts: jobs.Counts{Moved: 1000}, Resumed: 1},
		"Requeued 400 of 1,000 messages":          {Plan: plan, State: jobs.JobCancelled, Limit: 1000, Extent: whole, Counts: jobs.Counts{Moved: 400}},
		"Requeued at least 990 of 1,000 messages": {Plan: plan, State: jobs.JobDone, Limit: 1000, Extent: whole, Counts: jobs.Counts{Moved: 990}, Resumed: 2},
		"Requeueing up to 300 messages":           {Plan: plan, State: jobs.JobRunning, Limit: 300, Extent: filter},
		"Requeued 120 messages":                   {Plan: plan, State: jobs.JobDone, Limit: 300, Extent: filter, Counts: jobs.Counts{Moved: 120, Left: 180}},
		"Requeued at least 119 messages":          {Plan: plan, State: jobs.JobDone, Limit: 300, Extent: filter, Counts: jobs.Counts{Moved: 119}, Resumed: 1},
	} {
		if got := jobHeading(j); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

func TestTheRestOfAJobIsMeasuredByWhatIsLookedAt(t *testing.T) {
	j := jobs.Job{State: jobs.JobRunning, Limit: 10_000, Rate: 500, Counts: jobs.Counts{Moved: 10, Left: 4990}, Extent: move.Extent{Messages: 6000, AtMost: true}}
	if got := jobSpeed(j); got != "500 looked at per second, about 10 s left" {
		t.Errorf("%q", got)
	}
	j.Extent = move.Extent{Messages: 20, Picked: true}
	if got := jobSpeed(j); got != "500 looked at per second, at most 10 s left" {
		t.Errorf("%q", got)
	}
}

func TestARetryTakesWhatDidNotGoThroughInTheEnd(t *testing.T) {
	var items []jobs.JobItem
	for _, i := range [][2]string{{"a", "unknown"}, {"b", "moved"}, {"c", "rejected"}, {"d", "left"}, {"a", "moved"}, {"c", "returned"}, {"b", "bounced"}, {"", "rejected"}} {
		items = append(items, jobs.JobItem{Ref: i[0], Outcome: i[1]})
	}
	if got := failedRefs(items); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("%q", got)
	}
}

func TestMessagesThatWereNotSelectedAreNotAmongThoseThatAreLeft(t *testing.T) {
	j := jobs.Job{Items: 2, Counts: jobs.Counts{Moved: 1, Left: 5, Cleared: 1}, Extent: move.Extent{Messages: 2, Picked: true}}
	counted := map[string]int{}
	for _, c := range jobCounts(j) {
		counted[c.Word] = c.Count
	}
	if want := map[string]int{"moved": 1, "left": 1, "passed over": 4, "marker cleared": 1}; !maps.Equal(counted, want) {
		t.Errorf("%v, want %v", counted, want)
	}
	j.Extent.Picked = false
	for _, c := range jobCounts(j) {
		if c.Word == "left" && c.Count != 5 {
			t.Errorf("of a whole queue %d are left", c.Count)
		}
	}
}

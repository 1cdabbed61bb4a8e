package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
)

func TestMessagesThatAreDeadAgainAreListedAndPlannedAgain(t *testing.T) {
	s := stocked(t, nil)
	s.morgue.DeadAgain = 3
	doc := s.looked("inventory", inventoryDLQ, "100")
	var refs []string
	for i := range 5 {
		ref, _ := doc.Find("input[name=sel]").Eq(i).Attr("value")
		refs = append(refs, ref)
	}
	at := s.planMoveOf("admin", doc, "requeue-selected", refs...)
	job := s.started(at, url.Values{"reason": {"the gateway is back"}, "confirm": {inventoryDLQ}})
	page := s.moved(job)
	failed := oneLine(page.Find("section[aria-labelledby=failed-title]"))
	if !strings.Contains(failed, "3 messages reached their queues, and are dead again.") || strings.Contains(failed, "Nothing") {
		t.Errorf("what did not go through: %q", failed)
	}
	if chip := page.Find(".title .chips").First(); !strings.Contains(oneLine(chip), "done, 3 dead again") || chip.Find(".t-severe").Length() == 0 {
		html, _ := chip.Html()
		t.Errorf("the state is %s", html)
	}
	list := s.page("operator", job+"/items?became=back")
	if n := list.Find("table.job-items tbody tr").Length(); n != 3 || !strings.Contains(oneLine(list.Find("h1")), "dead again") {
		t.Errorf("%d rows under %q", n, oneLine(list.Find("h1")))
	}
	if got := s.call("operator", "GET", "/api/v1"+job+"/items?became=back", nil); len(got["items"].([]any)) != 3 {
		t.Errorf("the API lists %v", got)
	}
	if res := s.as("operator", "GET", job+"/items?became=odd", ""); res.StatusCode != http.StatusUnprocessableEntity && res.StatusCode != http.StatusBadRequest {
		t.Errorf("an odd outcome: %s", res.Status)
	}
	again, _ := page.Find("form[action$='/again']").Attr("action")
	res := s.as("admin", "POST", again, "")
	to := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/moves/") {
		t.Fatalf("again: %s, to %q: %.300s", res.Status, to, s.body(res))
	}
	if review := oneLine(s.page("admin", to).Find("h1")); !strings.Contains(review, "3 messages") {
		t.Errorf("the review is about %q", review)
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

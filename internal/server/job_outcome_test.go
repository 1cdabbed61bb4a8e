package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
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
	after := func(result string) *admin.Aftermath {
		return &admin.Aftermath{Back: number(0), Results: map[admin.Class]map[string]int{admin.ClassRuns: {result: 2, "done": 3}}}
	}
	unseen := func(result string, arrived *int64) admin.JobSummary {
		return admin.JobSummary{State: admin.JobDone, Do: admin.Requeue, Counts: admin.Counts{Moved: 5}, Arrived: arrived, Aftermath: &admin.Aftermath{Results: map[admin.Class]map[string]int{admin.ClassRuns: {result: 5}}}}
	}
	seen := func(job admin.JobSummary) admin.JobSummary {
		job.Aftermath.Back = number(0)
		return job
	}
	moved := admin.Counts{Moved: 5}
	for name, c := range map[string]struct {
		job        admin.JobSummary
		word, tier string
	}{
		"all is done":                  {admin.JobSummary{State: admin.JobDone, Do: admin.Requeue, Counts: moved, Aftermath: after("done")}, "done", dedup.Normal.String()},
		"what became is not known yet": {admin.JobSummary{State: admin.JobDone, Do: admin.Requeue, Counts: moved}, "done", dedup.TierUnknown.String()},
		"nothing was moved":            {admin.JobSummary{State: admin.JobDone, Do: admin.Requeue}, "done", dedup.Normal.String()},
		"a discard has no consumers":   {admin.JobSummary{State: admin.JobDone, Do: admin.Discard, Counts: moved}, "done", dedup.Normal.String()},
		"two came back":                {admin.JobSummary{State: admin.JobDone, Do: admin.Requeue, Counts: moved, Aftermath: after("back")}, "done, 2 dead again", dedup.Severe.String()},
		"two failed":                   {admin.JobSummary{State: admin.JobDone, Do: admin.Requeue, Counts: moved, Aftermath: after("failed")}, "done, 2 failed", dedup.Severe.String()},
		"one was refused":              {admin.JobSummary{State: admin.JobDone, Do: admin.Discard, Counts: admin.Counts{Moved: 1, Rejected: 1}}, "done", dedup.Warning.String()},
		"cancelled, and two came back": {admin.JobSummary{State: admin.JobCancelled, Do: admin.Requeue, Counts: moved, Aftermath: after("back")}, "cancelled, 2 dead again", dedup.Warning.String()},
		"all is done, and nothing came into the queue at all":         {unseen("done", number(0)), "done", dedup.Normal.String()},
		"all is done, and what came into the queue was not looked at": {unseen("done", number(5)), "done", dedup.TierUnknown.String()},
		"all is done, and the queue could not be read":                {unseen("done", nil), "done", dedup.TierUnknown.String()},
		"no marker is there, and the queue was not looked at":         {unseen("none", number(5)), "done", dedup.TierUnknown.String()},
		"no marker tells, though nothing came back":                   {seen(unseen("unknown", number(5))), "done", dedup.TierUnknown.String()},
		"no marker is there, though nothing came back":                {seen(unseen("none", number(0))), "done", dedup.TierUnknown.String()},
		"none has an id, though nothing came back":                    {admin.JobSummary{State: admin.JobDone, Do: admin.Requeue, Counts: moved, Aftermath: &admin.Aftermath{Back: number(0)}}, "done", dedup.TierUnknown.String()},
		"some are under way or stuck":                                 {admin.JobSummary{State: admin.JobDone, Do: admin.Requeue, Counts: moved, Aftermath: after("processing")}, "done", dedup.Warning.String()},
		"some have no marker, but none came back and others are done": {admin.JobSummary{State: admin.JobDone, Do: admin.Requeue, Counts: moved, Aftermath: after("none")}, "done", dedup.Normal.String()},
		"running, what came is no part":                               {admin.JobSummary{State: admin.JobRunning, Do: admin.Requeue, Counts: moved}, "running", dedup.TierUnknown.String()},
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
		if got := arrivedText(admin.Job{Arrived: c.arrived, Aftermath: &admin.Aftermath{Back: c.back}}); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

func TestACanaryThatIsWatchedSaysForHowLongAndInGoodGrammar(t *testing.T) {
	now := time.Now()
	job := func(n int, state admin.JobState) admin.Job {
		return admin.Job{State: state, WatchedUntil: now.Add(24 * time.Second), Plan: admin.MovePlan{Request: admin.MoveRequest{Canary: n}}}
	}
	for want, j := range map[string]admin.Job{
		"The first message was sent, and is being watched. The rest waits for the verdict.":      job(1, admin.JobWatching),
		"The first 5 messages were sent, and are being watched. The rest waits for the verdict.": job(5, admin.JobWatching),
		"The first message goes ahead, and the rest waits for the verdict.":                      job(1, admin.JobCanary),
		"The first 5 messages go ahead, and the rest waits for the verdict.":                     job(5, admin.JobCanary),
	} {
		v := canaryView(j, now)
		left := "Watched for 24 s more, unless one fails before."
		if j.State != admin.JobWatching {
			left = ""
		}
		if v.Text.Short != want || v.Left != left {
			t.Errorf("%q, %q", v.Text.Short, v.Left)
		}
	}
	late := job(5, admin.JobWatching)
	if v := canaryView(late, now.Add(time.Minute)); v.Left != "The verdict is due." {
		t.Errorf("%q", v.Left)
	}
}

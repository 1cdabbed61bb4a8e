package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

const (
	jobsListed  = 100
	itemsPerJob = 100
	// afterLooked is how long after its end the page of a job still looks whether it is known what became of its messages.
	afterLooked = 10 * time.Minute
)

// jobAsked returns the job that the address names.
func (s pages) jobAsked(r *web.Request) (jobs.Job, error) {
	return s.letters.Job(r.Context(), r.Asker(), r.PathValue("id"))
}

// job answers the page of one job. While it runs, the page follows it: by the stream of hints, or without the script by loading
// itself again.
func (s pages) job(r *web.Request) (web.Response, error) {
	j, err := s.jobAsked(r)
	if err != nil {
		return nil, err
	}
	return web.Page{Component: templates.Job(s.jobView(r, j))}, nil
}

// wentWrong counts the messages that did not go through though they should have.
func wentWrong(c jobs.Counts) int64 { return c.Returned + c.Rejected + c.Unknown + c.Bounced }

func (s pages) jobView(r *web.Request, j jobs.Job) templates.JobView {
	now, base := r.Now(), s.site.Base
	self := letter.JobAddress(base, j.ID)
	v := templates.JobView{
		Self: self, Running: !j.State.Final(), Sentence: templates.Sentence(letter.Sentence(j.Plan)), Why: templates.Sentence(show.EndSentence(j.Why)),
		Crumbs: append(letter.Crumbs(base, j.Plan.Request.Pipeline, j.Plan.Request.Queue), show.Crumb("Jobs", base+"/jobs")),
		Counts: jobCounts(j), Facts: jobFacts(j, now), Notes: jobNotes(j), Canary: canaryView(j, now), After: afterView(j, self, now), Audit: web.AuditAddress(base, j.ID),
		Items: self + "/items", CSV: self + "/items.csv", Missing: templates.Sentence(letter.WhyNot(r, s.site, s.letters, j.Plan.Request.Pipeline)),
	}
	showProgress(&v, j)
	v.State, v.Tier = jobOutcome(summaryOfJob(j))
	v.Heading = jobHeading(j)
	title := strconv.Itoa(v.Percent) + " % · " + letter.MoveWord(j.Plan.Request.Do)
	if j.State.Final() {
		title, v.Speed = v.Heading+" · "+v.State, ""
	} else {
		v.Speed, v.Quarter = jobSpeed(j), strconv.Itoa(v.Percent/25*25)
	}
	v.Frame = s.site.Frame(r, title)
	v.Frame.Live = web.Live("job:" + j.ID)
	switch {
	case v.Running:
		v.Frame.Refresh = 2
	case j.Aftermath == nil && j.Moved > 0 && j.Plan.Request.Do == admin.Requeue && now.Sub(j.Ended) < afterLooked:
		v.Frame.Refresh, v.Frame.Slow = 15, true
		v.AfterNote = "Whether it worked is told here as soon as the consumers have had time for it."
	}
	if v.Missing.Short == "" {
		v.Controls = jobControls(j, self)
		s.jobNext(&v, j, self)
		s.restrictJob(r, &v, j)
	}
	v.Arrived = arrivedText(j)
	s.deadAgain(r, &v, j, self)
	for _, id := range j.Clears {
		v.Clears = append(v.Clears, web.OperationAddress(s.site.Base, id))
	}
	v.ClearsTitle = show.Counted(len(j.Clears), "step") + " of clearing"
	for _, item := range j.Failures {
		v.Failures = append(v.Failures, s.jobItemLine(item, now))
	}
	return v
}

func showProgress(v *templates.JobView, j jobs.Job) {
	done, of := j.Counts.Progress(j.Extent, j.Limit)
	v.Done, v.Total, v.Unit = int(done), int(of), "looked at"
	if j.Extent.Picked {
		v.Unit = "tried"
	}
	if j.Resumed > 0 { // what moved in the last moment before an interruption is not counted
		v.Least = "at least "
	}
	switch {
	case of > 0:
		v.Percent = int(done * 100 / of) // 100 only where every one was looked at
	case j.State == jobs.JobDone:
		v.Percent = 100
	}
}

// jobNext offers what can follow on a job that has ended.
func (s pages) jobNext(v *templates.JobView, j jobs.Job, self string) {
	if !j.State.Final() {
		return
	}
	if n := wentWrong(j.Counts); n > 0 && j.Plan.IDChange == "" {
		v.Retry, v.RetryN = self+"/retry", int(n)
	}
	if j.Plan.Request.Do == admin.Discard && j.Moved > 0 {
		v.Restore, v.RestoreN = letter.ParkingAddress(s.site.Base, j.Plan.Request.Pipeline, j.Plan.Request.Queue), "Restore from the parking queue"
	}
}

// jobMessages is how many messages a job means to move.
func jobMessages(e move.Extent) string {
	if e.AtMost {
		return "up to " + letter.Messages(e.Messages)
	}
	return letter.Messages(e.Messages)
}

func jobHeading(j jobs.Job) string {
	do, all := j.Plan.Request.Do, jobMessages(j.Extent)
	switch {
	case !j.State.Final():
		return movingWord(do) + " " + all
	case j.Moved == j.Extent.Messages:
		return letter.MovedWord(do) + " " + letter.Messages(j.Moved)
	case j.Resumed > 0 && j.Extent.AtMost: // what moved in the last moment before an interruption is not counted
		return letter.MovedWord(do) + " at least " + letter.Messages(j.Moved)
	case j.Extent.AtMost:
		return letter.MovedWord(do) + " " + letter.Messages(j.Moved)
	case j.Resumed > 0:
		return fmt.Sprintf("%s at least %s of %s", letter.MovedWord(do), templates.Number(j.Moved), all)
	default:
		return fmt.Sprintf("%s %s of %s", letter.MovedWord(do), templates.Number(j.Moved), all)
	}
}

// jobSpeed is the measured rate with the time that the rest of the queue takes at it. Messages that were picked may all be found before.
func jobSpeed(j jobs.Job) string {
	if j.Rate <= 0 || j.State != jobs.JobRunning && j.State != jobs.JobCanary {
		return ""
	}
	left := float64(j.Limit-j.Taken()) / j.Rate
	about := "about "
	if j.Extent.Picked {
		about = "at most "
	}
	return templates.Rate(j.Rate) + " looked at per second, " + about + templates.Span(time.Duration(max(1, left))*time.Second) + " left"
}

func jobCounts(j jobs.Job) []templates.JobCount {
	where := "in their queues"
	if j.Plan.Request.Do == admin.Discard {
		where = "in the parking queue"
	}
	c, passed := j.Counts, passedOver(j)
	all := []struct {
		word, meaning string
		tier          dedup.Tier
		n             int64
		always        bool
	}{
		{"moved", "confirmed " + where, dedup.Normal, c.Moved, true},
		{"left", "looked at, not sent, and where they were; the list says why", dedup.TierUnknown, c.Left - passed, false},
		{"passed over", "other messages of the queue, which were not selected and stay", dedup.TierUnknown, passed, false},
		{"bounced", "came back during the run, and stay", dedup.Warning, c.Bounced, false},
		{"guarded", "requeued too often before, and stay", dedup.Warning, c.Guarded, false},
		{"returned", "no queue took them, and they stay", dedup.Warning, c.Returned, false},
		{"rejected", "the target was full, and they stay", dedup.Warning, c.Rejected, false},
		{"unknown", "no answer came: they stay, and may be at the target as well", dedup.Severe, c.Unknown, false},
		{show.Plural(c.Cleared, "marker", "markers") + " cleared", "before " + show.Plural(c.Cleared, "its message was", "their messages were") + " sent", dedup.TierUnknown, c.Cleared, false},
	}
	var list []templates.JobCount
	for _, x := range all {
		if x.n > 0 || x.always {
			list = append(list, templates.JobCount{Word: x.word, Meaning: x.meaning, Tier: x.tier.String(), Count: int(x.n)})
		}
	}
	return list
}

// passedOver counts the messages that a job of picked ones met and was not to move. They are in no list; where that is not complete,
// or was begun before an interruption, they cannot be told apart and are 0.
func passedOver(j jobs.Job) int64 {
	if !j.Extent.Picked || j.Resumed > 0 || j.Items >= jobs.MaxJobItems {
		return 0
	}
	return min(j.Left, max(0, j.Taken()-int64(j.Items)))
}

func jobFacts(j jobs.Job, now time.Time) []templates.Fact {
	facts := show.Facts{
		{Label: "Reason", Value: templates.Sentence(j.Reason).Short}, {Label: "By", Value: show.ShortName(j.By)},
		{Label: "Started", Value: show.Moment(j.Started, now).Full},
	}
	if !j.Ended.IsZero() {
		facts.Add("Took", templates.Latency(j.Ended.Sub(j.Started).Seconds()))
	}
	rate := j.Plan.Request.Rate
	switch {
	case rate < 0:
		facts.Add("Limit", "none")
	case rate == 0:
		facts.Add("Limit", letter.RateText(move.DefaultRate))
	default:
		facts.Add("Limit", letter.RateText(rate))
	}
	return facts
}

// askedText says of how many messages it was looked up what became of them. After an interruption more may be told of than are counted.
func askedText(a *jobs.Aftermath, j jobs.Job) string {
	if int64(a.Asked) > j.Moved {
		return letter.Messages(a.Asked)
	}
	return templates.Number(a.Asked) + " of " + letter.Messages(j.Moved)
}

func jobNotes(j jobs.Job) []templates.Problem {
	var notes []templates.Problem
	say := func(tier dedup.Tier, text, remedy string) {
		notes = append(notes, show.Problem(tier, text, remedy))
	}
	if j.Resumed > 0 {
		say(dedup.Warning, "It went on after an interruption "+show.HowOften(j.Resumed)+", and none can have lost a message. Each may have made up to 256 copies; "+
			"if the broker itself was killed or lost its power, a copy of each message that had moved by then, up to "+templates.Number(j.Moved)+". "+
			"What moved in the last moment before it may be missing from the count.",
			"Copies of messages whose markers work are skipped by their consumers.")
	}
	if j.Unknown > 0 {
		say(dedup.Severe, letter.Messages(j.Unknown)+" had no answer from the broker: each is still in the dead-letter queue, and may be at its target as well.", "Look each of them up before it is sent again.")
	}
	if more := j.Taken() - jobs.MaxJobItems; more > 0 {
		say(dedup.TierUnknown, "The first "+templates.Number(jobs.MaxJobItems)+" messages are listed one by one; all are counted.", "")
	}
	return notes
}

func jobControls(j jobs.Job, self string) []templates.Choice {
	switch {
	case j.State.Final():
		return nil
	case j.State == jobs.JobPaused:
		return []templates.Choice{{Label: "Resume the job", Value: self + "/resume"}, {Label: "Cancel the rest", Value: self + "/cancel"}}
	default:
		return []templates.Choice{{Label: "Pause the job", Value: self + "/pause"}, {Label: "Cancel the rest", Value: self + "/cancel"}}
	}
}

func canaryView(j jobs.Job, now time.Time) *templates.CanaryView {
	if j.Canary == nil {
		first := "The first " + letter.Messages(j.Plan.Request.Canary)
		if j.Plan.Request.Canary == 1 {
			first = "The first message"
		}
		were, are, goes := show.Plural(j.Plan.Request.Canary, "was", "were"), show.Plural(j.Plan.Request.Canary, "is", "are"), show.Plural(j.Plan.Request.Canary, "goes", "go")
		switch {
		case j.Plan.Request.Canary == 0:
			return nil
		case j.State == jobs.JobWatching:
			return &templates.CanaryView{Tier: dedup.TierUnknown.String(), Text: templates.Sentence(first + " " + were + " sent, and " + are + " being watched. The rest waits for the verdict."), Left: canaryLeft(j, now)}
		case j.State.Final():
			return &templates.CanaryView{Tier: dedup.TierUnknown.String(), Text: templates.Sentence("The job ended before the canary was judged.")}
		}
		return &templates.CanaryView{Tier: dedup.TierUnknown.String(), Text: templates.Sentence(first + " " + goes + " ahead, and the rest waits for the verdict.")}
	}
	c := j.Canary
	v := &templates.CanaryView{Tier: dedup.Severe.String(), Text: show.Statement(c.Text)}
	if c.Good {
		v.Tier = dedup.Normal.String()
	}
	back := "Dead again"
	if c.BackBy != jobs.BackByLook && c.Back > 0 {
		back = "Dead letters meanwhile, whose is not known"
	}
	for _, f := range []struct {
		label  string
		n      int
		always bool
	}{{"Sent", c.Sent, true}, {"Done", c.Done, true}, {"Failed", c.Failed, true}, {"Processing", c.Processing, false}, {"No new marker", c.None, false},
		{"Done before", c.Skipped, false}, {"Without a marker that tells", c.Unknown, false}, {back, c.Back, true}} {
		if f.n == 0 && !f.always {
			continue
		}
		v.Facts = append(v.Facts, templates.Fact{Label: f.label, Value: templates.Number(f.n)})
	}
	if c.BackBy != "" {
		v.BackBy = templates.Sentence(show.EndSentence("What came back was told by " + c.BackBy))
	}
	v.Facts = append(v.Facts, templates.Fact{Label: "Judged", Value: show.Moment(c.At, now).Text})
	return v
}

func afterView(j jobs.Job, self string, now time.Time) *templates.AfterView {
	a := j.Aftermath
	if a == nil {
		return nil
	}
	v := &templates.AfterView{At: show.Moment(a.At, now), Asked: askedText(a, j) + " looked up by their ids",
		Heads: []string{"Done", "Dead again", "Failed", "Processing", "No marker", "Unknown"}}
	for _, class := range preflight.Classes() {
		counts := a.Results[class]
		if len(counts) == 0 {
			continue
		}
		row := templates.AfterLine{Word: letter.ClassWord(class), Tier: letter.ClassTier(class)}
		for _, result := range jobs.Fates() {
			n := counts[result]
			row.Cells = append(row.Cells, templates.Number(n))
			row.Alarm = append(row.Alarm, n > 0 && slices.Contains([]string{jobs.BecameFailed, jobs.BecameBack}, result))
			row.Hrefs = append(row.Hrefs, itemsQuery{became: result}.address(self))
		}
		v.Rows = append(v.Rows, row)
	}
	rate := func(label string, f *float64) {
		text := "unknown"
		if f != nil {
			text = templates.Percent(*f)
		}
		v.Rate = append(v.Rate, templates.Fact{Label: label, Value: text})
	}
	rate("Duplicate rate before", a.RateBefore)
	rate("Duplicate rate after", a.RateAfter)
	return v
}

// jobs answers the list of recent jobs.
func (s pages) jobs(r *web.Request) (web.Response, error) {
	list, err := s.letters.Jobs(r.Context(), r.Asker(), jobsListed)
	if err != nil {
		return nil, err
	}
	now := r.Now()
	v := templates.JobsView{Frame: s.site.Frame(r, "Jobs"), Self: s.site.Base + "/jobs", Empty: templates.Empty{
		Heading: "Nothing was moved yet", Text: "Requeueing, discarding and restoring dead letters appear here. It begins at a dead-letter queue.", Href: s.site.Base + "/dead-letters", Link: "See the dead letters",
	}}
	for _, j := range list {
		line := s.jobLine(j, now)
		v.Rows = append(v.Rows, line)
		if line.Running {
			v.Frame.Refresh = 5
		}
	}
	return web.Page{Component: templates.Jobs(v)}, nil
}

func (s pages) jobLine(j jobs.JobSummary, now time.Time) templates.JobLine {
	l := templates.JobLine{
		Href: letter.JobAddress(s.site.Base, j.ID), By: show.Name(j.By), Reason: templates.Sentence(j.Reason), Started: show.Moment(j.Started, now),
		Title: templates.Sentence(letter.MoveWord(j.Do) + " " + jobMessages(j.Extent) + " of " + show.Within(j.Queue) + ", pipeline " + j.Pipeline), Running: !j.State.Final(),
	}
	done, of := j.Counts.Progress(j.Extent, j.Limit)
	l.Done, l.Total = int(done), int(of)
	l.State, l.Tier = jobOutcome(j)
	var parts []string
	for _, c := range jobCounts(jobs.Job{Plan: move.Plan{Request: move.Request{Do: j.Do}}, Counts: j.Counts}) {
		part := templates.Number(c.Count) + " " + c.Word
		if j.Resumed > 0 && len(parts) == 0 {
			part = "at least " + part // as the job's page says it
		}
		parts = append(parts, part)
	}
	l.Results = strings.Join(parts, ", ")
	return l
}

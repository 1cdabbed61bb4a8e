package job

import (
	"time"

	"dedup-dashboard/internal/admin/jobs"

	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/web"
)

// summaryJSON is a job in a list.
type summaryJSON struct {
	ID       string     `json:"id"`
	Do       string     `json:"do"`
	Pipeline string     `json:"pipeline"`
	Queue    string     `json:"queue"`
	By       string     `json:"by"`
	Reason   string     `json:"reason"`
	State    string     `json:"state"`
	Final    bool       `json:"final"`
	Started  *time.Time `json:"started"`
	Ended    *time.Time `json:"ended"`
	Limit    int64      `json:"limit"`
	Extent   extentJSON `json:"extent"`
	Counts   countsJSON `json:"counts"`
}

// extentJSON is how many messages a job means to move.
type extentJSON struct {
	Messages int64 `json:"messages"`
	AtMost   bool  `json:"at_most"`
	Picked   bool  `json:"picked"`
}

type countsJSON struct {
	Moved int64 `json:"moved"`
	// AtLeast is true where more may have moved: what moved in the last moment before an interruption is not counted.
	AtLeast  bool  `json:"moved_at_least"`
	Left     int64 `json:"left"`
	Bounced  int64 `json:"bounced"`
	Guarded  int64 `json:"guarded"`
	Returned int64 `json:"returned"`
	Rejected int64 `json:"rejected"`
	Unknown  int64 `json:"unknown"`
	Cleared  int64 `json:"markers_cleared"`
}

// oneJSON is a job with its verdicts.
type oneJSON struct {
	summaryJSON
	Sentence string `json:"sentence"`
	Why      string `json:"why"`
	Resumed  int    `json:"resumed"`
	// WatchedUntil is null but for the time in which the canary is watched.
	WatchedUntil *time.Time     `json:"watched_until"`
	Rate         float64        `json:"rate_per_second"`
	Canary       *canaryJSON    `json:"canary"`
	Aftermath    *aftermathJSON `json:"aftermath"`
	// Arrived is null while it is not known.
	Arrived  *int64     `json:"arrived"`
	Failures []itemJSON `json:"failures"`
}

type canaryJSON struct {
	Sent       int        `json:"sent"`
	At         *time.Time `json:"at"`
	Done       int        `json:"done"`
	Failed     int        `json:"failed"`
	Processing int        `json:"processing"`
	None       int        `json:"none"`
	Back       int        `json:"back"`
	Skipped    int        `json:"done_before"`
	Unknown    int        `json:"unknown"`
	BackBy     string     `json:"back_by"`
	Good       bool       `json:"good"`
	Text       string     `json:"text"`
}

type aftermathJSON struct {
	At      *time.Time                `json:"at"`
	Asked   int                       `json:"asked"`
	Results map[string]map[string]int `json:"results"`
	// Back is null where the dead-letter queue could not be looked at.
	Back       *int64   `json:"back"`
	BackBy     string   `json:"back_by"`
	RateBefore *float64 `json:"duplicate_rate_before"`
	RateAfter  *float64 `json:"duplicate_rate_after"`
}

type itemJSON struct {
	Seq     int64      `json:"no"`
	At      *time.Time `json:"at"`
	Ref     string     `json:"ref"`
	ID      string     `json:"id"`
	Target  string     `json:"target"`
	Class   string     `json:"class"`
	Outcome string     `json:"outcome"`
	Text    string     `json:"text"`
	// Became is empty until it is known.
	Became string `json:"became"`
}

func countsOf(c jobs.Counts, atLeast bool) countsJSON {
	return countsJSON{c.Moved, atLeast, c.Left, c.Bounced, c.Guarded, c.Returned, c.Rejected, c.Unknown, c.Cleared}
}

func summaryOf(j jobs.JobSummary) summaryJSON {
	return summaryJSON{
		j.ID, string(j.Do), j.Pipeline, j.Queue, j.By, j.Reason, string(j.State), j.State.Final(), web.Time(j.Started), web.Time(j.Ended), j.Limit, extentJSON(j.Extent), countsOf(j.Counts, j.Resumed > 0),
	}
}

func itemOf(i jobs.JobItem) itemJSON {
	return itemJSON{i.Seq, web.Time(i.At), i.Ref, i.ID, i.Target, string(i.Class), i.Outcome, i.Text, i.Became}
}

func jobOf(j jobs.Job) oneJSON {
	out := oneJSON{
		summaryJSON: summaryOf(summaryOfJob(j)),
		Sentence:    letter.Sentence(j.Plan), Why: j.Why, Resumed: j.Resumed, Rate: j.Rate, Arrived: j.Arrived, Failures: list.Map(j.Failures, itemOf),
	}
	if j.State == jobs.JobWatching {
		out.WatchedUntil = web.Time(j.WatchedUntil)
	}
	if c := j.Canary; c != nil {
		out.Canary = &canaryJSON{c.Sent, web.Time(c.At), c.Done, c.Failed, c.Processing, c.None, c.Back, c.Skipped, c.Unknown, c.BackBy, c.Good, c.Text}
	}
	if a := j.Aftermath; a != nil {
		results := map[string]map[string]int{}
		for class, counts := range a.Results {
			results[string(class)] = counts
		}
		out.Aftermath = &aftermathJSON{web.Time(a.At), a.Asked, results, a.Back, a.BackBy, a.RateBefore, a.RateAfter}
	}
	return out
}

// apiJobs gives the newest jobs.
func (s pages) apiJobs(r *web.Request) (web.Response, error) {
	jobs, err := s.letters.Jobs(r.Context(), r.Asker(), jobsListed)
	if err != nil {
		return nil, err
	}
	return web.JSON{Value: map[string]any{"jobs": list.Map(jobs, summaryOf)}}, nil
}

// apiJob gives one job.
func (s pages) apiJob(r *web.Request) (web.Response, error) {
	j, err := s.jobAsked(r)
	if err != nil {
		return nil, err
	}
	return web.JSON{Value: jobOf(j)}, nil
}

// apiJobItems gives a page of the messages of a job, after the item ?after=; with ?became= those of which that became.
func (s pages) apiJobItems(r *web.Request) (web.Response, error) {
	var q itemsQuery
	if err := list.Read(r.URL.Query(), q.params()...); err != nil {
		return nil, err
	}
	items, err := s.itemsAsked(r, q, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	next := int64(0)
	if len(items) == itemsPerJob {
		next = items[len(items)-1].Seq
	}
	return web.JSON{Value: map[string]any{"items": list.Map(items, itemOf), "next_after": next}}, nil
}

package message

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/marker"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// maxStoryJobs is how many jobs a story asks who began them and why.
const maxStoryJobs = 20

// A story collects what dead-letter queues and jobs know of one message, each thing once.
type story struct {
	messages Messages
	base     string
	r        *web.Request
	now      time.Time
	found    marker.LookupResult
	// items are what jobs did with the message, scans the looks that found it.
	items  []jobs.JobItem
	scans  []deadletter.Scan
	jobs   map[string]jobs.JobSummary
	deaths []message.Death
}

// timelineIDs is how many ids a look-up by a business key follows.
const timelineIDs = 5

// Stories tell what dead letters and jobs know of an id or a business key, to those who may see them. What cannot be asked stands in
// missing.
func (m Messages) Stories(r *web.Request, base, term string, found marker.LookupResult, now time.Time) (all []web.Dated, missing string) {
	if m.deps.Letters == nil {
		return nil, ""
	}
	if !r.Who.Can(auth.Operator) {
		return nil, "Dead letters and jobs of this id are seen by those with the role " + auth.Operator.String() + "."
	}
	ids := idsOf(term, found)
	if keyed, err := m.deps.Letters.IDsOfKey(r.Context(), r.Asker(), term, timelineIDs-len(ids)); err == nil { // else asking for an id says why
		ids = append(ids, slices.DeleteFunc(keyed, func(id string) bool { return slices.Contains(ids, id) })...)
	}
	for _, id := range ids {
		more, err := m.letterEntries(r, base, id, found, now)
		if err != nil {
			missing = "Dead letters and jobs cannot be told: " + show.ErrorText(err)
		}
		all = append(all, more...)
	}
	return all, missing
}

// idsOf are the ids that a term stands for: itself, and those of the markers that were found by their business key.
func idsOf(term string, result marker.LookupResult) []string {
	ids := []string{term}
	for _, a := range result.Stores {
		for _, j := range a.Found {
			if j.ID != "" && !slices.Contains(ids, j.ID) && len(ids) < timelineIDs {
				ids = append(ids, j.ID)
			}
		}
	}
	return ids
}

// letterEntries are what dead-letter queues and jobs know of one id.
func (m Messages) letterEntries(r *web.Request, base, id string, result marker.LookupResult, now time.Time) ([]web.Dated, error) {
	t := story{messages: m, base: base, r: r, now: now, found: result, jobs: map[string]jobs.JobSummary{}}
	var err error
	if t.scans, err = m.deps.Letters.Seen(r.Context(), r.Asker(), id); err != nil {
		return nil, err
	}
	if t.items, err = m.deps.Letters.ItemsOf(r.Context(), r.Asker(), id); err != nil {
		return append(t.looks(), t.died()...), err
	}
	slices.SortStableFunc(t.items, func(a, b jobs.JobItem) int { return b.At.Compare(a.At) })
	return slices.Concat(t.looks(), t.moves(), t.died()), nil
}

// looks are the newest look at each queue that found the message. What a requeue would do is said only while no job has moved it since.
func (t *story) looks() []web.Dated {
	var all []web.Dated
	told := map[string]bool{}
	slices.SortStableFunc(t.scans, func(a, b deadletter.Scan) int { return b.At.Compare(a.At) })
	for _, scan := range t.scans {
		for _, l := range scan.Letters {
			for _, d := range l.Deaths[:min(len(l.Deaths), letter.MaxHeaders)] {
				t.death(d)
			}
			if place := scan.Queue.Vhost + "\x00" + scan.Queue.Name + "\x00" + l.Ref; !told[place] {
				told[place] = true
				all = append(all, t.look(scan, l))
			}
		}
	}
	return all
}

func (t *story) look(scan deadletter.Scan, l deadletter.Letter) web.Dated {
	where, queue := "dead-letter queue ", scan.Queue.Name
	if from, ok := dedup.ParkedFrom(scan.Queue); ok {
		where, queue = "parking queue of ", from.Name
	}
	seen := "Seen in the " + where + show.Within(queue)
	if l.ID != t.found.Term {
		seen = "Message " + cmp.Or(show.Within(l.ID), "without an id") + " of this key: seen in the " + where + show.Within(queue)
	}
	e := templates.TimelineEntry{
		At: show.Moment(scan.At, t.now), Kind: "dead letter", Tier: dedup.TierUnknown.String(), Text: templates.Sentence(seen),
		Href: letter.Key{Pipeline: scan.Pipeline, Queue: queue, Scan: scan.ID, Ref: l.Ref}.Address(t.base), Link: "the message",
	}
	moved := slices.ContainsFunc(t.items, func(i jobs.JobItem) bool { return i.Ref == l.Ref && i.Outcome == "moved" && i.At.After(scan.At) })
	if !moved {
		e.Tier = letter.ClassTier(l.Prediction.Class)
		e.Text = templates.Sentence(seen + "; if requeued: " + letter.ClassWord(l.Prediction.Class))
		e.More = templates.Sentence(show.ReadableTimes(strings.Join(l.Prediction.Reasons, "; "), t.now))
	}
	return web.Dated{When: scan.At, TimelineEntry: e}
}

// moves are what jobs did with the message, in the words of who began them.
func (t *story) moves() []web.Dated {
	var all []web.Dated
	newest := true
	for _, i := range t.items {
		if i.Death != nil {
			t.death(*i.Death)
		}
		text := "A job: " + outcomeWords(i)
		e := templates.TimelineEntry{At: show.Moment(i.At, t.now), Kind: "job", Tier: letter.ItemTier(i), More: templates.Sentence(show.ReadableTimes(show.Capital(i.Text), t.now))}
		job, known := t.job(i.Job)
		if known {
			text = doneBy(job, i)
		}
		if i.Outcome == "moved" {
			if newest && known {
				text += t.since(job, i)
			}
			newest = false // what the marker says is not of those before
		}
		if i.Job != "" {
			e.Href, e.Link = letter.JobAddress(t.base, i.Job), "the job"
		}
		e.Text = templates.Sentence(text)
		all = append(all, web.Dated{When: i.At, TimelineEntry: e})
	}
	return all
}

// job returns a job of the story; false where it cannot be read, or there are too many.
func (t *story) job(id string) (jobs.JobSummary, bool) {
	if job, ok := t.jobs[id]; ok || id == "" || len(t.jobs) == maxStoryJobs {
		return job, ok && job.ID != ""
	}
	job, err := t.messages.deps.Letters.JobSummary(t.r.Context(), t.r.Asker(), id)
	if err != nil {
		job = jobs.JobSummary{} // the entry is told without its reason; asked for once
	}
	t.jobs[id] = job
	return job, job.ID != ""
}

// doneBy says what a job did with a message: verb, person, reason.
func doneBy(job jobs.JobSummary, i jobs.JobItem) string {
	verb := letter.MoveWord(job.Do) // what was tried
	if i.Outcome == "moved" {
		verb = letter.MovedWord(job.Do)
	}
	text := verb + " by " + show.Within(job.By)
	if job.Reason != "" {
		text += ", “" + show.Within(job.Reason) + "”"
	}
	return text + ": " + outcomeWords(i)
}

// outcomeWords say what became of a message in a job.
func outcomeWords(i jobs.JobItem) string {
	switch i.Outcome {
	case "moved":
		text := "moved"
		if i.Target != "" {
			text += " to " + show.Within(i.Target)
		}
		if i.Became == jobs.BecameBack || i.Became == jobs.BecameFailed {
			text += ", then " + letter.FateWord(i.Became)
		}
		return text
	case "left", "guarded":
		return "left where it was"
	case "bounced":
		return "it came back"
	case "returned":
		return "it found no queue"
	case "rejected":
		return "refused by " + cmp.Or(show.Within(i.Target), "its target")
	case "unknown":
		return "no answer came, it may be in both queues"
	default:
		return i.Outcome
	}
}

// since says what the marker of a requeued message tells of it now: "" when nothing.
func (t *story) since(job jobs.JobSummary, i jobs.JobItem) string {
	if job.Do != admin.Requeue {
		return ""
	}
	if slices.ContainsFunc(t.deaths, func(d message.Death) bool { return diedSince(d, i) }) {
		return ", then died again"
	}
	p, ok := t.messages.deps.Snapshots.Snapshot().Pipeline(job.Pipeline)
	if !ok {
		return ""
	}
	for _, a := range t.found.Stores {
		for _, j := range a.Found {
			if a.Store != p.Pipeline.Store || j.ID != i.ID {
				continue
			}
			begun := j.Since.Add(-web.ClockOffset(j.Sighting))
			switch {
			case j.Since.IsZero(): // it may have been so before
				return "; its marker is " + string(j.State) + " now"
			case begun.Before(i.At.Add(-time.Second)):
				return "; its marker is " + string(j.State) + " since before that"
			default:
				return ", then " + string(j.State)
			}
		}
	}
	return ""
}

// diedSince reports whether a death came after a job had moved the message. Deaths are web.Dated by the second.
func diedSince(d message.Death, i jobs.JobItem) bool {
	own := i.Death != nil && i.Death.Queue == d.Queue && i.Death.Reason == d.Reason && i.Death.Time.Equal(d.Time)
	return !own && i.Outcome == "moved" && !d.Time.Before(i.At.Truncate(time.Second))
}

// death notes a death, unless it is known: looks, copies and jobs tell of the same.
func (t *story) death(d message.Death) {
	for i, k := range t.deaths {
		if k.Queue == d.Queue && k.Reason == d.Reason && k.Time.Equal(d.Time) {
			t.deaths[i].Count = max(k.Count, d.Count)
			return
		}
	}
	t.deaths = append(t.deaths, d)
}

// died are the deaths of the message.
func (t *story) died() []web.Dated {
	var all []web.Dated
	for _, d := range t.deaths {
		text := "Died in " + show.Within(d.Queue) + ": " + show.Within(letter.DeathWord(d.Reason))
		if d.Count > 1 {
			text += ", first of " + templates.Number(d.Count) + " times"
		}
		at := d.Time
		if slices.ContainsFunc(t.items, func(i jobs.JobItem) bool { return diedSince(d, i) }) {
			at = at.Add(time.Second - 1) // after the job of the same second
		}
		all = append(all, web.Dated{When: at, TimelineEntry: templates.TimelineEntry{At: show.Moment(d.Time, t.now), Kind: "death", Tier: dedup.Warning.String(), Text: templates.Sentence(text)}})
	}
	return all
}

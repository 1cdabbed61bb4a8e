package server

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

const (
	// timelineIDs is how many ids a look-up by a business key follows, timelineShown how many entries it shows.
	timelineIDs   = 5
	timelineShown = 200
)

// dated is an entry of a timeline with the time that it is sorted by.
type dated struct {
	at time.Time
	templates.TimelineEntry
}

// timeline tells everything that is known of an id, the newest first: its markers, its dead letters in the looks that are kept, what
// jobs did with it, and what was done to its markers. What cannot be asked stands in missing.
func (s *Server) timeline(r *request, term string, result admin.LookupResult, now time.Time) (entries []templates.TimelineEntry, missing string) {
	all := s.markerEntries(r, result, now)
	switch {
	case s.deadLetters == nil:
	case !r.Who.Can(operator):
		missing = "Dead letters and jobs of this id are seen by those with the role " + operator.String() + "."
	default:
		for _, id := range idsOf(term, result) {
			more, err := s.letterEntries(r, id, now)
			if err != nil {
				missing = "Dead letters and jobs cannot be told: " + endSentence(dedup.PublicText(err))
			}
			all = append(all, more...)
		}
	}
	slices.SortStableFunc(all, func(a, b dated) int {
		return cmp.Or(cmp.Compare(rankUnknown(a.at.IsZero()), rankUnknown(b.at.IsZero())), b.at.Compare(a.at))
	})
	for _, e := range all[:min(len(all), timelineShown)] {
		entries = append(entries, e.TimelineEntry)
	}
	return entries, missing
}

// idsOf are the ids that a term stands for: itself, and those of the markers that were found by their business key.
func idsOf(term string, result admin.LookupResult) []string {
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

func (s *Server) markerEntries(r *request, result admin.LookupResult, now time.Time) []dated {
	var all []dated
	for _, a := range result.Stores {
		for _, j := range a.Found {
			offset := clockOffset(j.Sighting)
			e := dated{at: time.Time{}, TimelineEntry: templates.TimelineEntry{
				Kind: "marker", Tier: dedup.TierUnknown.String(), Text: templates.Sentence("Store " + within(a.Store) + " has a marker: " + string(j.State)), Href: markerAddress(s.cfg.base(), a.Store, j.Key), Link: "the marker",
			}}
			if !j.Since.IsZero() {
				e.at = j.Since.Add(-offset)
				e.Text = templates.Sentence("Store " + within(a.Store) + ": the marker is " + string(j.State) + " since then")
			}
			e.At = moment(e.at, now)
			all = append(all, e)
			if !j.Expires.IsZero() {
				at := j.Expires.Add(-offset)
				all = append(all, dated{at, templates.TimelineEntry{At: moment(at, now), Kind: "marker", Tier: dedup.TierUnknown.String(), Text: templates.Sentence("The marker in store " + within(a.Store) + " expires, " + ago(at, now))}})
			}
			for i, line := range s.historyLines(r, j.History, now) {
				all = append(all, dated{j.History[i].At, templates.TimelineEntry{
					At: line.At, Kind: "action", Tier: line.Tier, Text: templates.Sentence(capital(line.What) + " by " + line.Who.Short + ": " + line.Phase), More: line.Detail, Href: line.Href, Link: line.Link,
				}})
			}
		}
	}
	return all
}

// letterEntries are what dead-letter queues and jobs know of one id.
func (s *Server) letterEntries(r *request, id string, now time.Time) ([]dated, error) {
	var all []dated
	scans, err := s.deadLetters.Seen(r.Context(), r.asker(), id)
	if err != nil {
		return nil, err
	}
	for _, scan := range scans {
		for _, l := range scan.Letters {
			all = append(all, s.seenEntries(scan, l, now)...)
		}
	}
	items, err := s.deadLetters.ItemsOf(r.Context(), r.asker(), id)
	if err != nil {
		return all, err
	}
	for _, i := range items {
		text := "A job: " + i.Outcome
		if i.Target != "" {
			text += ", to " + within(i.Target)
		}
		e := templates.TimelineEntry{At: moment(i.At, now), Kind: "job", Tier: outcomeTier(i.Outcome), Text: templates.Sentence(text), More: templates.Sentence(readableTimes(capital(i.Text), now))}
		if i.Job != "" {
			e.Href, e.Link = jobAddress(s.cfg.base(), i.Job), "the job"
		}
		all = append(all, dated{i.At, e})
	}
	return all, nil
}

// seenEntries are the deaths of a letter, and the look that found it.
func (s *Server) seenEntries(scan admin.Scan, l admin.Letter, now time.Time) []dated {
	where := "dead-letter queue "
	queue := scan.Queue.Name
	if from, ok := dedup.ParkedFrom(scan.Queue); ok {
		where, queue = "parking queue of ", from.Name
	}
	all := []dated{{scan.At, templates.TimelineEntry{
		At: moment(scan.At, now), Kind: "dead letter", Tier: classTier(l.Prediction.Class),
		Text: templates.Sentence("Seen in the " + where + within(queue) + "; if requeued: " + classWord(l.Prediction.Class)), More: templates.Sentence(readableTimes(strings.Join(l.Prediction.Reasons, "; "), now)),
		Href: letterKey{scan.Pipeline, queue, scan.ID, l.Ref}.address(s.cfg.base()), Link: "the message",
	}}}
	for i, d := range l.Deaths {
		if i == maxHeaders {
			break
		}
		text := "Died in " + within(d.Queue) + ": " + within(deathWord(d.Reason))
		if d.Count > 1 {
			text += ", first of " + templates.Number(float64(d.Count)) + " times"
		}
		all = append(all, dated{d.Time, templates.TimelineEntry{At: moment(d.Time, now), Kind: "death", Tier: dedup.Warning.String(), Text: templates.Sentence(text)}})
	}
	return all
}

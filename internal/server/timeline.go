package server

import (
	"cmp"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
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
func (s *Server) timeline(r *web.Request, term string, result admin.LookupResult, now time.Time) (entries []templates.TimelineEntry, missing string) {
	all := s.markerEntries(r, result, now)
	switch {
	case s.deadLetters == nil:
	case !r.Who.Can(operator):
		missing = "Dead letters and jobs of this id are seen by those with the role " + operator.String() + "."
	default:
		ids := idsOf(term, result)
		if keyed, err := s.deadLetters.IDsOfKey(r.Context(), r.Asker(), term, timelineIDs-len(ids)); err == nil { // else asking for an id says why
			ids = append(ids, slices.DeleteFunc(keyed, func(id string) bool { return slices.Contains(ids, id) })...)
		}
		for _, id := range ids {
			more, err := s.letterEntries(r, id, result, now)
			if err != nil {
				missing = "Dead letters and jobs cannot be told: " + show.EndSentence(dedup.PublicText(err))
			}
			all = append(all, more...)
		}
	}
	slices.SortStableFunc(all, func(a, b dated) int {
		return cmp.Or(list.Unknown(a.at.IsZero(), b.at.IsZero()), b.at.Compare(a.at))
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

func (s *Server) markerEntries(r *web.Request, result admin.LookupResult, now time.Time) []dated {
	var all []dated
	for _, a := range result.Stores {
		for _, j := range a.Found {
			offset := web.ClockOffset(j.Sighting)
			e := dated{at: time.Time{}, TimelineEntry: templates.TimelineEntry{
				Kind: "marker", Tier: dedup.TierUnknown.String(), Text: templates.Sentence("Store " + show.Within(a.Store) + " has a marker: " + string(j.State)), Href: web.MarkerAddress(s.cfg.base(), a.Store, j.Key), Link: "the marker",
			}}
			if !j.Since.IsZero() {
				e.at = j.Since.Add(-offset)
				e.Text = templates.Sentence("Store " + show.Within(a.Store) + ": the marker is " + string(j.State) + " since then")
			}
			e.At = show.Moment(e.at, now)
			all = append(all, e)
			if !j.Expires.IsZero() {
				at := j.Expires.Add(-offset)
				all = append(all, dated{at, templates.TimelineEntry{At: show.Moment(at, now), Kind: "marker", Tier: dedup.TierUnknown.String(), Text: templates.Sentence("The marker in store " + show.Within(a.Store) + " expires, " + show.Ago(at, now))}})
			}
			for i, line := range s.site.HistoryLines(r, j.History, now) {
				all = append(all, dated{j.History[i].At, templates.TimelineEntry{
					At: line.At, Kind: "action", Tier: line.Tier, Text: templates.Sentence(show.Capital(line.What) + " by " + line.Who.Short + ": " + line.Phase), More: line.Detail, Href: line.Href, Link: line.Link,
				}})
			}
		}
	}
	return all
}

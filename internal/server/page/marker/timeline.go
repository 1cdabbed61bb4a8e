package marker

import (
	"cmp"
	"slices"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// timelineShown is how many entries a timeline shows.
const timelineShown = 200

// timeline tells everything that is known of an id, the newest first: its markers, its dead letters in the looks that are kept, what
// jobs did with it, and what was done to its markers. What cannot be asked stands in missing.
func (s *pages) timeline(r *web.Request, term string, result marker.LookupResult, now time.Time) (entries []templates.TimelineEntry, missing string) {
	var stories []web.Dated
	if s.deps.Stories != nil {
		stories, missing = s.deps.Stories.Stories(r, s.site.Base, term, result, now)
	}
	all := append(s.markerEntries(r, result, now), stories...)
	slices.SortStableFunc(all, func(a, b web.Dated) int {
		return cmp.Or(list.Unknown(a.When.IsZero(), b.When.IsZero()), b.When.Compare(a.When))
	})
	for _, e := range all[:min(len(all), timelineShown)] {
		entries = append(entries, e.TimelineEntry)
	}
	return entries, missing
}

func (s *pages) markerEntries(r *web.Request, result marker.LookupResult, now time.Time) []web.Dated {
	var all []web.Dated
	for _, a := range result.Stores {
		for _, j := range a.Found {
			offset := web.ClockOffset(j.Sighting)
			e := web.Dated{TimelineEntry: templates.TimelineEntry{
				Kind: "marker", Tier: dedup.TierUnknown.String(), Text: templates.Sentence("Store " + show.Within(a.Store) + " has a marker: " + string(j.State)), Href: web.MarkerAddress(s.site.Base, a.Store, j.Key), Link: "Open the marker",
			}}
			if !j.Since.IsZero() {
				e.When = j.Since.Add(-offset)
				e.Text = templates.Sentence("Store " + show.Within(a.Store) + ": the marker has been " + string(j.State) + " since then")
			}
			e.At = show.Moment(e.When, now)
			all = append(all, e)
			if !j.Expires.IsZero() {
				at := j.Expires.Add(-offset)
				all = append(all, web.Dated{When: at, TimelineEntry: templates.TimelineEntry{At: show.Moment(at, now), Kind: "marker", Tier: dedup.TierUnknown.String(), Text: templates.Sentence("The marker in store " + show.Within(a.Store) + " expires, " + show.Ago(at, now))}})
			}
			all = append(all, s.actionEntries(r, j.History, now)...)
		}
		for _, g := range a.Gone {
			all = append(all, s.actionEntries(r, g.History, now)...)
		}
	}
	return all
}

// actionEntries are what was done to a marker.
func (s *pages) actionEntries(r *web.Request, history []admin.Entry, now time.Time) []web.Dated {
	var all []web.Dated
	for i, line := range s.site.HistoryLines(r, history, now) {
		all = append(all, web.Dated{When: history[i].At, TimelineEntry: templates.TimelineEntry{
			At: line.At, Kind: "action", Tier: line.Tier, Text: templates.Sentence(show.Capital(line.What) + " by " + line.Who.Short + ": " + line.Phase), More: line.Detail, Href: line.Href, Link: line.Link,
		}})
	}
	return all
}

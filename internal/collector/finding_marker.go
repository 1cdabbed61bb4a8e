package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

// oldestListed is the length at which Pass.OldestProcessing is full.
const oldestListed = dedup.MaxListed

// messagesGivenUp finds messages that were acked without their work after too many failures: the work is lost.
func messagesGivenUp(p *dedup.Pass, now time.Time) []dedup.Finding {
	// fewInAnHour is the count within an hour from which on the loss goes on fast enough to wake somebody.
	const fewInAnHour = 10
	if p == nil {
		return nil
	}
	// The pass also saw what was given up while it walked, which lies after its start.
	end := p.Ended.Add(p.ClockOffset + time.Second)
	from := now.Add(p.ClockOffset - time.Hour)
	n, tier := p.GaveUp.Between(from, end), dedup.Severe
	switch {
	case n >= fewInAnHour:
		tier = dedup.Emergency
	case n == 0:
		from, tier = now.Add(p.ClockOffset-24*time.Hour), dedup.Warning
		n = p.GaveUp.Between(from, end)
	}
	if n == 0 {
		return nil
	}
	since := clock(p.GaveUp.FirstSince(from).Add(-p.ClockOffset), now)
	evidence := counted(p.GaveUp.Total()+p.UndatedGaveUp, "retry counter") + " at the limit in the last complete pass, of any age"
	if len(p.GaveUpMarkers) > 0 {
		evidence += "; ids, for example: " + someOf(ids(p.GaveUpMarkers))
	}
	return []dedup.Finding{{
		Kind: "messages_given_up", Tier: tier,
		Text:     fmt.Sprintf("%s %s given up since %s: acked without the work, which is lost", counted(n, "message"), verb(n, "was", "were"), since),
		Evidence: evidence,
		Mend:     "Look for these ids in the consumers' logs, mend what makes the work fail, then clear their retry counters and send the messages again.",
	}}
}

// processingTooLong finds processing markers that are older than honest work takes. Markers without expiry have no age
// and a finding of their own.
func processingTooLong(p *dedup.Pass, longest time.Duration, now time.Time) []dedup.Finding {
	if p == nil || longest <= 0 {
		return nil
	}
	// A marker is only known to have been there when the pass saw it, which was no earlier than its start.
	seen := p.Started.Add(p.ClockOffset)
	var n int64
	var oldest *dedup.Marker
	for i := range p.OldestProcessing {
		if m := &p.OldestProcessing[i]; !m.Since.IsZero() && seen.Sub(m.Since) > longest {
			n++
			if oldest == nil || m.Since.Before(oldest.Since) {
				oldest = m
			}
		}
	}
	if n == 0 {
		return nil
	}
	atLeast := ""
	// The list is oldest first: where its last one is too old, there may be more beyond it.
	if last := p.OldestProcessing[len(p.OldestProcessing)-1]; len(p.OldestProcessing) >= oldestListed && seen.Sub(last.Since) > longest {
		atLeast = "At least "
	}
	age := now.Add(p.ClockOffset).Sub(oldest.Since)
	return []dedup.Finding{{
		Kind: "processing_too_long", Tier: dedup.Warning,
		Text: fmt.Sprintf("%s%s %s processing for longer than %s, the longest that honest work takes; the oldest for %s",
			atLeast, counted(n, "marker"), verb(n, "has been", "have been"), span(longest), span(age)),
		Evidence: fmt.Sprintf("In the last complete pass; the oldest is of message %s, since %s", name(oldest.ID), clock(oldest.Since.Add(-p.ClockOffset), now)),
		Mend: "Look whether a consumer died while working; the marker holds its message back until it expires. " +
			"If the work is just slow, raise max_processing of the pipeline.",
	}}
}

func ids(markers []dedup.Marker) []string {
	all := make([]string, len(markers))
	for i, m := range markers {
		all[i] = m.ID
	}
	return all
}

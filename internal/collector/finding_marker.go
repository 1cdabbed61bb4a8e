package collector

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
)

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

func ids(markers []dedup.Marker) []string {
	all := make([]string, len(markers))
	for i, m := range markers {
		all[i] = m.ID
	}
	return all
}

package finding

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

func ids(markers []dedup.Marker) []string {
	all := make([]string, len(markers))
	for i, m := range markers {
		all[i] = m.Name()
	}
	return all
}

// betweenCommands is how long a marker may lack its expiry because the consumer sets it with a second command.
const betweenCommands = 5 * time.Second

// setsExpiry reports whether a marker of this state is meant to expire. Of a table, only those are counted which have a
// column for it.
func setsExpiry(s dedup.Scheme, state dedup.State) bool {
	switch {
	case !s.Expires():
		return true
	case state == dedup.Processing:
		return s.ProcessingTTL > 0
	case state == dedup.Done || state == dedup.Present:
		return s.DoneTTL > 0
	}
	return false
}

// markersWithoutExpiry finds markers that never expire although the scheme gives them an expiry: their consumer died
// between two commands.
func markersWithoutExpiry(p *dedup.Pass, s dedup.Scheme) []dedup.Finding {
	if p == nil {
		return nil
	}
	var out []dedup.Finding
	for _, state := range []dedup.State{dedup.Processing, dedup.Done, dedup.Present, dedup.Failed} {
		n := p.NoExpiry[state]
		if n == 0 || !setsExpiry(s, state) || !lasting(p, s, state) {
			continue
		}
		f := dedup.Finding{Kind: "marker_without_expiry", Tier: leakTier(n, p.States[state])}
		f.Text = fmt.Sprintf("%s %s: the store fills up with them", text.Counted(n, string(state)+" marker"), text.Agree(n, "never expires", "never expire"))
		f.Remedy = "Write the state and its expiry in one command, and give those that are there an expiry."
		if state == dedup.Processing {
			f.Tier = dedup.Severe
			f.Text = fmt.Sprintf("%s %s: %s until somebody clears %s", text.Counted(n, "processing marker"), text.Agree(n, "never expires", "never expire"),
				heldBack(s, n), text.Agree(n, "it", "them"))
			f.Remedy = "Claim with SET NX EX in one command; clear the stuck markers after a look at each."
		}
		f.Evidence = text.Counted(n, "marker") + " in the last complete pass"
		if some := permanentIDs(p, state); len(some) > 0 {
			f.Evidence += "; ids, for example: " + text.SomeNames(some)
		}
		out = append(out, f)
	}
	return out
}

// heldBack says what becomes of the messages of processing markers.
func heldBack(s dedup.Scheme, n int64) string {
	if s.OnInFlight == "ack" {
		return text.Agree(n, "its message is skipped", "their messages are skipped")
	}
	return text.Agree(n, "its message is blocked", "their messages are blocked")
}

// leakTier is that of n markers of a state that stay for ever: a few are left by crashes, many by the code itself.
func leakTier(n, of int64) dedup.Tier {
	const few = 10
	if n >= few && 100*n >= of {
		return dedup.Warning
	}
	return dedup.Normal
}

// lasting reports whether some marker of a state has lacked an expiry for longer than a consumer takes to set it.
func lasting(p *dedup.Pass, s dedup.Scheme, state dedup.State) bool {
	for _, list := range [][]dedup.Marker{p.OldestProcessing, p.Permanent} {
		for _, m := range list {
			if m.State == state && NeverExpires(m, p, s) {
				return true
			}
		}
	}
	return false
}

func permanentIDs(p *dedup.Pass, state dedup.State) []string {
	list := p.Permanent
	if state == dedup.Processing {
		list = p.OldestProcessing
	}
	var some []string
	for _, m := range list {
		if m.State == state && m.Expires.IsZero() {
			some = append(some, m.Name())
		}
	}
	return some
}

// failedAndAcked finds messages that were acked although their work failed, in a scheme that does so: a failed marker is
// a lost message. Old ones are a list to work off; new ones wake somebody.
func failedAndAcked(p *dedup.Pass, s dedup.Scheme, g Growth, now time.Time) []dedup.Finding {
	const manyInAnHour = 10
	if p == nil || s.OnFail != "ack" || p.States[dedup.Failed] == 0 {
		return nil
	}
	n := p.States[dedup.Failed]
	hour, day, dated := failedSince(p, now)
	tier, when := dedup.Normal, ""
	if !dated {
		tier = dedup.Warning
		if then, ok := g.First(); ok {
			hour, dated = max(0, n-then.failed), n > then.failed
		}
	}
	switch {
	case hour >= manyInAnHour:
		tier = dedup.Emergency
	case hour > 0:
		tier = dedup.Severe
	case day > 0:
		tier = dedup.Warning
	}
	switch {
	case hour > 0:
		when = fmt.Sprintf(", %s of them in the last hour", text.Grouped(hour))
	case day > 0:
		when = fmt.Sprintf(", %s of them in the last 24 h", text.Grouped(day))
	case dated:
		when = ", none of them in the last 24 h"
	}
	evidence := text.Counted(n, "marker") + " failed in the last complete pass, and the scheme acks what fails"
	if len(p.FailedMarkers) > 0 {
		evidence += "; ids, for example: " + text.SomeNames(ids(p.FailedMarkers))
		if keys := businessKeys(p.FailedMarkers); len(keys) > 0 {
			evidence += "; business keys: " + text.SomeNames(keys)
		}
	}
	return []dedup.Finding{{
		Kind: "failed_and_acked", Tier: tier,
		Text:     fmt.Sprintf("%s %s failed and acked: the work is lost%s", text.Counted(n, "message"), text.Agree(n, "was", "were"), when),
		Evidence: evidence,
		Remedy:   "They are in the list failed of the pipeline's markers, with business keys; its CSV has those beyond the first 1,000 too. Mend the cause, clear the markers, then send the messages again.",
	}}
}

// failedSince counts the failed markers of the last hour and the last day; dated is false when not all are listed with
// their times.
func failedSince(p *dedup.Pass, now time.Time) (hour, day int64, dated bool) {
	if p.States[dedup.Failed] > int64(len(p.FailedMarkers)) {
		return 0, 0, false
	}
	at := now.Add(p.ClockOffset)
	for _, m := range p.FailedMarkers {
		switch age := at.Sub(m.Since); {
		case m.Since.IsZero():
			return 0, 0, false
		case age <= time.Hour:
			hour++
			day++
		case age <= 24*time.Hour:
			day++
		}
	}
	return hour, day, true
}

func businessKeys(markers []dedup.Marker) []string {
	var keys []string
	for _, m := range markers {
		if m.BusinessKey != "" {
			keys = append(keys, m.BusinessKey)
		}
	}
	return keys
}

// NeverExpires reports whether a marker lacks the expiry that it was meant to get, and has for longer than a consumer takes to set it.
func NeverExpires(m dedup.Marker, p *dedup.Pass, s dedup.Scheme) bool {
	return m.Expires.IsZero() && setsExpiry(s, m.State) && seenFor(m, p, betweenCommands)
}

// seenFor reports whether a marker had been there for a time when its pass ended.
func seenFor(m dedup.Marker, p *dedup.Pass, d time.Duration) bool {
	return (!m.FirstSeen.IsZero() && p.Ended.Sub(m.FirstSeen) >= d) ||
		(!m.Since.IsZero() && p.Ended.Add(p.ClockOffset).Sub(m.Since) >= d)
}

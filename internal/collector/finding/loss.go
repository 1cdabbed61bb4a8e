package finding

import (
	"fmt"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// A loss counts messages that were given up: acked without their work after too many failures.
type loss struct {
	// hour and day are those of the last hour and the last 24 h; grown are those among them that have no time of their
	// own but were not there at the oldest pass of the last hour.
	hour, day, grown int64
	// undated are all that have no time, and total all there are of any age: at least, when atLeast.
	undated, total int64
	atLeast        bool
	// first is the earliest of the last hour, or else of the last 24 h, by our clock.
	first time.Time
}

// lossOf counts the messages of a pass that were given up.
func lossOf(p *dedup.Pass, g Growth, now time.Time) loss {
	// The pass also saw what was given up while it walked, which lies after its start.
	end := p.Ended.Add(p.ClockOffset + time.Second)
	hourAgo, dayAgo := now.Add(p.ClockOffset-time.Hour), now.Add(p.ClockOffset-24*time.Hour)
	l := loss{hour: p.GaveUp.Between(hourAgo, end), day: p.GaveUp.Between(dayAgo, end), undated: p.UndatedGaveUp}
	from := dayAgo
	if l.hour > 0 {
		from = hourAgo
	}
	l.first = p.GaveUp.FirstSince(from).Add(-p.ClockOffset)
	if then, ok := g.First(); ok {
		l.grown = max(0, l.undated-then.gaveUp)
	}
	l.hour, l.day = l.hour+l.grown, l.day+l.grown
	// Old messages of a table are not counted by their time, but listed.
	listed := int64(len(p.GaveUpMarkers))
	l.total = max(p.GaveUp.Total()+l.undated, listed)
	l.atLeast = l.total == listed && listed >= dedup.MaxListed
	return l
}

// tier is that of lost work: old ones are a list to work off; new ones wake somebody.
func (l loss) tier() dedup.Tier {
	// manyInAnHour is the count within an hour from which on the loss goes on fast enough to be an emergency.
	const manyInAnHour = 10
	switch {
	case l.hour >= manyInAnHour:
		return dedup.Emergency
	case l.hour > 0:
		return dedup.Severe
	case l.day > 0 || l.undated > 0:
		return dedup.Warning
	}
	return dedup.Normal
}

// sentence says how many were given up, and when.
func (l loss) sentence(now time.Time) string {
	gaveUp := func(n int64) string {
		return fmt.Sprintf("%s %s given up", text.Counted(n, "message"), text.Agree(n, "was", "were"))
	}
	recent := l.day
	if l.hour > 0 {
		recent = l.hour
	}
	switch {
	case l.grown > 0:
		return fmt.Sprintf("%s, %s of them in the last hour", gaveUp(l.undated+recent-l.grown), text.Grouped(l.hour))
	case recent > 0 && l.undated > 0:
		return fmt.Sprintf("%s since %s, and %s more, when is not known", gaveUp(recent), text.Clock(l.first, now), text.Grouped(l.undated))
	case recent > 0:
		return fmt.Sprintf("%s since %s", gaveUp(recent), text.Clock(l.first, now))
	case l.undated > 0:
		return gaveUp(l.undated) + ", when is not known"
	case l.atLeast:
		return "At least " + gaveUp(l.total) + ", none of them in the last 24 h"
	}
	return gaveUp(l.total) + ", " + text.Agree(l.total, "none", "none of them") + " in the last 24 h"
}

// messagesGivenUp finds messages that were acked without their work after too many failures: the work is lost, unless the consumers
// publish such messages to one of the dead-letter queues that the configuration lists, which nothing here can see.
func messagesGivenUp(p *dedup.Pass, g Growth, now time.Time, listed ...string) []dedup.Finding {
	if p == nil {
		return nil
	}
	l := lossOf(p, g, now)
	if l.total == 0 {
		return nil
	}
	atLeast := ""
	if l.atLeast {
		atLeast = "at least "
	}
	evidence := atLeast + text.Counted(l.total, "retry counter") + " at the limit in the last complete pass, of any age"
	if l.undated > 0 {
		evidence += fmt.Sprintf("; %s of them %s no time: set an expiry with each INCR", text.Grouped(l.undated), text.Agree(l.undated, "has", "have"))
	}
	if len(p.GaveUpMarkers) > 0 {
		evidence += "; ids, for example: " + text.SomeNames(ids(p.GaveUpMarkers))
	}
	tier, fate := l.tier(), "which is lost"
	if len(listed) > 0 {
		tier, fate = min(tier, dedup.Warning), "which is lost unless consumers publish it to "+text.SomeNames(listed)
	}
	return []dedup.Finding{{
		Kind: "messages_given_up", Tier: tier,
		Text:     l.sentence(now) + ": acked without the work, " + fate,
		Evidence: evidence,
		Remedy: "The list gave-up of the pipeline's markers has them, up to 1,000, also as CSV. Look for the ids in the consumers' logs, " +
			"fix what makes the work fail, then clear the retry counters and send the messages again.",
	}}
}

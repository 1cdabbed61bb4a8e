package dedup

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// reasons puts a consideration into words, the most telling first, and after a "cannot tell" what would settle it.
func (c consideration) reasons(e Evidence, s Scheme) []string {
	var out []string
	if c.aged {
		out = append(out, c.aging(e))
	}
	if c.hinder == noHindrance || c.hinder >= tooYoung {
		out = append(out, c.seen(e)...)
	}
	if b := e.Bound; b.Gone > 0 && (c.hinder == mayBeOut || c.hinder == mayEnd) {
		out = append(out, b.sentence())
	}
	if why := c.hindered(e, s); why != "" {
		out = append(out, why)
	}
	if c.verdict == ProbablyDead || c.verdict == Orphan {
		out = append(out, "the broker cannot see a worker that lost its connection and goes on; such a one would have been at it for "+length(c.age))
	}
	return out
}

// aging compares the marker's age with the longest processing time.
func (c consideration) aging(e Evidence) string {
	least := ""
	if c.atLeast {
		least = "≥ "
	}
	text := "processing for " + least + length(c.age)
	switch limit := e.Limit(); {
	case limit <= 0:
		return text
	case limit > e.MaxProcessing:
		return fmt.Sprintf("%s; twice the 99th percentile of the work time is %s", text, length(limit))
	default:
		return fmt.Sprintf("%s; work takes at most %s", text, length(limit))
	}
}

// seen tells what the broker showed.
func (c consideration) seen(e Evidence) []string {
	var out []string
	switch {
	case c.out.n == 2:
		out = append(out, fmt.Sprintf("no delivery was out at %s and %s (two readings)", moment(c.out.at[1]), moment(c.out.at[0])))
	case c.out.n == 1:
		out = append(out, fmt.Sprintf("no delivery was out at %s (one reading since the marker was set)", moment(c.out.at[0])))
	}
	switch {
	case c.bare && !c.given.IsZero():
		out = append(out, "it never expired until it was given an expiry from here at "+moment(c.given)+", though consumers set one right after they set a marker: its owner ended between the two commands")
	case c.bare:
		out = append(out, "it never expires, though consumers set an expiry right after they set a marker: its owner ended between the two commands")
	}
	if c.verdict == Looping {
		out = append(out, fmt.Sprintf("from %s to %s it was asked for again and again, as by deliveries of its message, which consumers return",
			moment(e.Met.From), moment(e.Met.To)))
	}
	if c.closed {
		out = append(out, fmt.Sprintf("every connection that consumed when the marker was set has been closed since, as seen at %s", moment(e.Closed)))
	}
	if c.verdict == Orphan {
		return append(out, fmt.Sprintf("the source queues held no message at %s and %s, and the dead-letter queues held none: the message is in none of them",
			moment(c.empty.at[1]), moment(c.empty.at[0])))
	}
	if !c.closed && !c.bare && c.out.n < 2 {
		out = append(out, presence(e)...)
	}
	if c.verdict == ProbablyDead {
		out = append(out, whereabouts(e)...)
	}
	return out
}

// sentence says the bound of a marker that is one of several.
func (b Bound) sentence() string {
	return fmt.Sprintf("%d of the %d overdue markers that cannot be told apart, or more, belong to nobody: at %s and %s at most %s out",
		b.Gone, b.Of, moment(b.At[1]), moment(b.At[0]), tally(b.Out, "delivery was", "deliveries were"))
}

// presence tells who could be at work.
func presence(e Evidence) []string {
	var out []string
	switch {
	case e.AutoAck:
	case e.Unacked == nil:
		out = append(out, "how many messages are unacked is not known")
	default:
		out = append(out, tally(*e.Unacked, "message is unacked", "messages are unacked"))
	}
	switch {
	case e.Consumers == nil:
		out = append(out, "how many consumers there are is not known")
	case *e.Consumers == 0 && !e.NoConsumersSince.IsZero():
		out = append(out, "there has been no consumer since "+moment(e.NoConsumersSince))
	default:
		out = append(out, tally(*e.Consumers, "consumer is there", "consumers are there"))
	}
	return out
}

// whereabouts tells where the message of a dead owner can be.
func whereabouts(e Evidence) []string {
	var out []string
	if e.Ready != nil && *e.Ready > 0 {
		out = append(out, tally(*e.Ready, "message waits in the source queues", "messages wait in the source queues"))
	}
	switch {
	case e.DeadLettersNow == nil:
		out = append(out, "whether its message was dead-lettered is not known")
	case *e.DeadLettersNow > 0:
		out = append(out, tally(*e.DeadLettersNow, "message is in the dead-letter queues", "messages are in the dead-letter queues"))
	}
	return out
}

// hindered says why no verdict could be reached, and what would settle it.
func (c consideration) hindered(e Evidence, s Scheme) string {
	switch c.hinder {
	case notInFlight:
		return "the marker does not say that work is under way, so that there is no owner to judge"
	case noStates:
		if s.Blind != "" {
			return s.Blind
		}
		return "markers of this scheme show no state: one whose work is under way, was done or was lost look the same"
	case unnamed:
		return "its key is too long to be acted on, or to be known again in the next pass"
	case noEvidence:
		return e.Missing
	case unborn:
		return "when the marker was set is not known; the next passes over the store will tell how long it has been there"
	case noLimit:
		return "how long processing takes is not known: set max_processing of the pipeline"
	case tooYoung:
		return fmt.Sprintf("a worker that lost its connection may still finish; it can be told from %s on", moment(e.At.Add(e.Limit()-c.age)))
	case autoAck:
		return "consumers ack a message when they receive it, so that the broker does not know who is at work; manual acks would settle it"
	case faceless:
		return "the marker carries neither a time nor an expiry, so that one which was set anew for another attempt looks the same; an expiry in the scheme would settle it"
	case mayBeOut:
		return "the owner's delivery may be among those that are out; two readings with nothing out would settle it, or the end of every connection of that time, as after a restart of the consumers"
	case mayEnd:
		return "one more reading with nothing out would settle it"
	default:
		return ""
	}
}

// tally writes a number with the phrase that agrees with it.
func tally(n int64, one, many string) string {
	switch n {
	case 0:
		return "no " + one
	case 1:
		return "1 " + one
	default:
		return strconv.FormatInt(n, 10) + " " + many
	}
}

// length writes a length of time in at most two units: "45 s", "12 m 5 s", "2 h 10 m".
func length(d time.Duration) string {
	d = max(0, d)
	if d < 10*time.Second {
		return strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
	}
	units := []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	var parts []string
	for i, u := range units {
		if n := d / u.of; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, u.name))
			if rest := (d - n*u.of); i+1 < len(units) && rest >= units[i+1].of {
				parts = append(parts, fmt.Sprintf("%d %s", rest/units[i+1].of, units[i+1].name))
			}
			break
		}
	}
	return strings.Join(parts, " ")
}

// moment writes a time so that it means the same to everybody; pages write it in the zone of who reads.
func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

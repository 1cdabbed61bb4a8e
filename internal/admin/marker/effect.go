package marker

import (
	"fmt"
	"strconv"
	"strings"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
)

// effect says in words what happens after the deed.
func (r rules) effect(it PlanItem) string {
	if r.request.Deed == admin.SetExpiry {
		return r.expiring(it)
	}
	text := []string{r.cleared(it)}
	if hint := r.deadLetters(it); hint != "" {
		text = append(text, hint)
	}
	if hint := r.retries(it.Seen.Retry); hint != "" {
		text = append(text, hint)
	}
	return strings.Join(text, ". ")
}

// cleared says what becomes of the message once its marker is cleared.
func (r rules) cleared(it PlanItem) string {
	switch it.Seen.State {
	case dedup.Done:
		return "the work was done: if the message comes again it runs again, a double effect"
	case dedup.Present:
		return "whether the work was done cannot be told: if the message comes again it runs, perhaps a second time"
	case dedup.Failed:
		return r.clearedFailed(it)
	}
	if r.scheme.Lock {
		return "the lock is free: a delivery that waits for it runs"
	}
	if it.Verdict == dedup.Orphan {
		return "no queue holds the message: it runs only if its producer sends it again"
	}
	if r.empty() {
		return "the queues are empty: the message runs only if it comes back or its producer sends it again"
	}
	if r.scheme.OnInFlight == "wait" {
		return "a delivery that waits for it runs, or the next one"
	}
	if r.scheme.OnInFlight == "nack" {
		return "the message loops in its queue and runs at its next delivery"
	}
	return "deliveries that met the marker were acked without the work: if none is left in a queue the producer must send the message again, and then it runs"
}

func (r rules) clearedFailed(it PlanItem) string {
	// Where a scheme gives up, a failed marker with a count and no counter beside it is the counter itself.
	counted := r.scheme.GiveUp > 0 && it.Seen.Attempts != nil && it.Seen.Retry == nil
	switch {
	case counted && *it.Seen.Attempts >= int64(r.scheme.GiveUp):
		return fmt.Sprintf("the message was given up after %d failures and acked without the work: its producer must send it again, and then it has %d tries again",
			*it.Seen.Attempts, r.scheme.GiveUp)
	case counted:
		return fmt.Sprintf("its %s of %d are forgotten: it has all its tries again", admin.Plural(int(*it.Seen.Attempts), "failure"), r.scheme.GiveUp)
	}
	switch r.scheme.OnFail {
	case "ack":
		return "the message was acked when it failed: the producer must send it again, and then it runs"
	case "delete":
		return "the message is new to its consumers: it runs when it comes again"
	default:
		return "the next delivery runs instead of meeting a failed marker; if the message was acked its producer must send it again"
	}
}

// empty reports whether the source queues are known to hold nothing.
func (r rules) empty() bool {
	e := r.view.evidence
	return e.Missing == "" && e.Ready != nil && e.Unacked != nil && *e.Ready+*e.Unacked == 0
}

// deadLetters reminds of dead letters, where the message may be.
func (r rules) deadLetters(it PlanItem) string {
	e := r.view.evidence
	if e.Missing != "" || e.DeadLettersNow == nil || *e.DeadLettersNow == 0 || it.Verdict == dedup.Orphan {
		return ""
	}
	return fmt.Sprintf("It may be among the %s: there it stays until it is requeued", admin.Plural(int(*e.DeadLettersNow), "dead letter"))
}

// retries says what the message's retry counter does at the next failure.
func (r rules) retries(c *dedup.RetryCounter) string {
	if c == nil || r.scheme.GiveUp == 0 {
		return ""
	}
	stands := fmt.Sprintf("%s of %d failures", admin.Printable(c.Value, 20), r.scheme.GiveUp)
	if r.request.AlsoRetry {
		return "Its retry counter (" + stands + ") is cleared with it"
	}
	n, err := strconv.Atoi(c.Value)
	switch left := r.scheme.GiveUp - n; {
	case err != nil:
		return ""
	case left <= 0:
		return "Its retry counter stands at " + stands + ": unless it is cleared too, the next delivery is acked without the work"
	case left == 1:
		return "Its retry counter stands at " + stands + ": one more failure drops the message"
	default:
		return "Its retry counter stands at " + stands
	}
}

// restoreEffect says in words what happens after an image is written back.
func restoreEffect(s dedup.Scheme, image dedup.Sighting) string {
	text := "the marker is written back as it was (" + admin.Describe(&image) + ")"
	if image.State != dedup.Processing {
		return text
	}
	switch s.OnInFlight {
	case "nack":
		return text + ": deliveries that meet it are returned to their queue until it expires or is cleared"
	case "ack":
		return text + ": deliveries that meet it are acked without the work"
	case "wait":
		return text + ": deliveries that meet it wait until it expires or is cleared"
	}
	return text
}

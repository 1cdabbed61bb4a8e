package server

import (
	"fmt"
	"strings"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// classWord is a class as pages name it.
func classWord(c preflight.Class) string {
	switch c {
	case preflight.ClassRuns:
		return "runs"
	case preflight.ClassLastAttempt:
		return "runs, last attempt"
	case preflight.ClassMayRunTwice:
		return "may run twice"
	case preflight.ClassSkipped:
		return "skipped, work was done"
	case preflight.ClassPerhapsSwallowed:
		return "swallowed, work perhaps not done"
	case preflight.ClassSwallowed:
		return "swallowed, work was NOT done"
	case preflight.ClassBlocks:
		return "blocks"
	default:
		return "unknown"
	}
}

// classTier gives a class a shape and a colour by what a requeue would cost.
func classTier(c preflight.Class) string {
	switch c {
	case preflight.ClassRuns, preflight.ClassSkipped:
		return dedup.Normal.String()
	case preflight.ClassLastAttempt, preflight.ClassBlocks:
		return dedup.Warning.String()
	case preflight.ClassMayRunTwice, preflight.ClassPerhapsSwallowed:
		return dedup.Severe.String()
	case preflight.ClassSwallowed:
		return dedup.Emergency.String()
	default:
		return dedup.TierUnknown.String()
	}
}

// classMeaning says a class in one sentence.
func classMeaning(c preflight.Class) string {
	switch c {
	case preflight.ClassRuns:
		return "The consumer does the work."
	case preflight.ClassLastAttempt:
		return "The consumer does the work, and gives the message up if it fails once more."
	case preflight.ClassMayRunTwice:
		return "The work may have been done before, and nothing stops it from being done again."
	case preflight.ClassSkipped:
		return "The consumer acks it without work, because the work was done. Safe to discard."
	case preflight.ClassPerhapsSwallowed:
		return "The consumer acks it without work, and its marker does not tell whether the work was done: if not, the message would be lost."
	case preflight.ClassSwallowed:
		return "The consumer acks it without work, though the work was not done: the message would be lost."
	case preflight.ClassBlocks:
		return "The consumer returns it again and again until its marker ends."
	default:
		return "It cannot be told: the store could not be asked, holds what cannot be decoded, or another message has the same id and goes first."
	}
}

// classCounts are the classes of a tally that occur, in the order of pages.
func classCounts(t preflight.Tally) []templates.ClassCount {
	var counts []templates.ClassCount
	for _, c := range preflight.Classes() {
		if t[c] > 0 {
			counts = append(counts, templates.ClassCount{Word: classWord(c), Tier: classTier(c), Count: t[c]})
		}
	}
	return counts
}

// deathWord is a reason of a death in words.
func deathWord(reason string) string {
	switch reason {
	case dedup.DeathRejected:
		return "rejected"
	case dedup.DeathExpired:
		return "expired"
	case dedup.DeathMaxLength:
		return "queue was full"
	case dedup.DeathDeliveryLimit:
		return "too many deliveries"
	default:
		return reason
	}
}

// groupWord heads the groups of a key.
func groupWord(k deadletter.GroupKey) string {
	switch k {
	case deadletter.ByReason:
		return "Reason"
	case deadletter.BySource:
		return "Source queue"
	case deadletter.ByRoute:
		return "Exchange and routing key"
	case deadletter.ByException:
		return "Exception"
	case deadletter.ByType:
		return "Type"
	default:
		return "Hour of death"
	}
}

// choiceWord is a choice as a select offers it.
func choiceWord(do admin.Move, c preflight.Choice) string {
	switch {
	case c == preflight.ClearFirst:
		return "clear the marker first"
	case c == preflight.LeaveOut:
		return "leave out"
	case do == admin.Discard:
		return "discard"
	case do == admin.RestoreLetters:
		return "restore"
	default:
		return "keep as it is"
	}
}

// effectOf says what happens to a message of a class under a choice.
// repeats is true where the marker does not tell whether the work was done.
func effectOf(do admin.Move, class preflight.Class, choice preflight.Choice, repeats bool) string {
	switch {
	case choice == preflight.LeaveOut:
		return "Stays where it is."
	case do == admin.Discard && class == preflight.ClassSkipped:
		return "Goes to the parking queue. Nothing is lost: its work was done."
	case do == admin.Discard:
		return "Goes to the parking queue; its work stays undone until it is restored and requeued."
	case do == admin.RestoreLetters:
		return "Goes back to the dead-letter queue."
	case choice == preflight.ClearFirst && class == preflight.ClassSkipped:
		return "Its done marker is cleared, then it is sent: the work is done a second time."
	case choice == preflight.ClearFirst && repeats:
		return "Its marker, which does not tell whether the work was done, is cleared, then it is sent: the work may be done a second time."
	case choice == preflight.ClearFirst:
		return "Its marker is cleared, then it is sent: the consumer does the work."
	}
	switch class {
	case preflight.ClassRuns:
		return "Is sent, and runs."
	case preflight.ClassLastAttempt:
		return "Is sent, and runs for the last time: after one more failure its consumer gives it up."
	case preflight.ClassMayRunTwice:
		return "Is sent, and runs, perhaps a second time."
	case preflight.ClassSkipped:
		return "Is sent, and acked without work. Nothing changes."
	case preflight.ClassPerhapsSwallowed:
		return "Is sent, and acked without work: if the work was not done, it is lost."
	case preflight.ClassSwallowed:
		return "Is sent, acked without work, and lost."
	case preflight.ClassBlocks:
		return "Is sent, and goes round in its queue until its marker ends."
	default:
		return "Is sent; what its consumer does cannot be foreseen."
	}
}

// moveWord is a move as a verb.
func moveWord(do admin.Move) string {
	switch do {
	case admin.Discard:
		return "Discard"
	case admin.RestoreLetters:
		return "Restore"
	default:
		return "Requeue"
	}
}

func movingWord(do admin.Move) string {
	switch do {
	case admin.Discard:
		return "Discarding"
	case admin.RestoreLetters:
		return "Restoring"
	default:
		return "Requeueing"
	}
}

func movedWord(do admin.Move) string {
	switch do {
	case admin.Discard:
		return "Discarded"
	case admin.RestoreLetters:
		return "Restored"
	default:
		return "Requeued"
	}
}

// stateWord is the state of a job in words, with its tier.
func stateWord(state jobs.JobState) (word, tier string) {
	switch state {
	case jobs.JobRunning:
		return "running", dedup.TierUnknown.String()
	case jobs.JobCanary:
		return "sending the canary", dedup.TierUnknown.String()
	case jobs.JobWatching:
		return "watching the canary", dedup.TierUnknown.String()
	case jobs.JobPaused:
		return "paused", dedup.Warning.String()
	case jobs.JobWaiting:
		return "waiting", dedup.Warning.String()
	case jobs.JobDone:
		return "done", dedup.Normal.String()
	case jobs.JobCancelled:
		return "cancelled", dedup.Warning.String()
	case jobs.JobStopped:
		return "stopped", dedup.Severe.String()
	default:
		return templates.Plain(string(state), show.NameLimit).Short, dedup.TierUnknown.String()
	}
}

// outcomeTier grades what became of one message.
func outcomeTier(outcome string) string {
	switch outcome {
	case "moved":
		return dedup.Normal.String()
	case "left":
		return dedup.TierUnknown.String()
	case "returned", "rejected", "bounced", "guarded":
		return dedup.Warning.String()
	case "unknown":
		return dedup.Severe.String()
	default:
		return dedup.TierUnknown.String()
	}
}

// messages writes a number of messages.
func messages[N int | int64](n N) string { return show.Counted(int(n), "message") }

// targetsText names the queues that messages go to: "orders", or "orders and 2 more queues".
func targetsText(names []string) string {
	switch len(names) {
	case 0:
		return "the queues that they came from"
	case 1, 2:
		short := make([]string, len(names))
		for i, n := range names {
			short[i] = show.Within(n)
		}
		return strings.Join(short, " and ")
	default:
		return fmt.Sprintf("%s and %d more queues", show.Within(names[0]), len(names)-1)
	}
}

package letter

import (
	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// ClassWord is a class as pages name it.
func ClassWord(c preflight.Class) string {
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

// ClassTier gives a class a shape and a colour by what a requeue would cost.
func ClassTier(c preflight.Class) string {
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

// ClassMeaning says a class in one sentence.
func ClassMeaning(c preflight.Class) string {
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

// DeathWord is a reason of a death in words.
func DeathWord(reason string) string {
	switch reason {
	case message.DeathRejected:
		return "rejected"
	case message.DeathExpired:
		return "expired"
	case message.DeathMaxLength:
		return "queue was full"
	case message.DeathDeliveryLimit:
		return "too many deliveries"
	default:
		return reason
	}
}

// MoveWord is a move as a verb.
func MoveWord(do admin.Move) string {
	switch do {
	case admin.Discard:
		return "Discard"
	case admin.RestoreLetters:
		return "Restore"
	default:
		return "Requeue"
	}
}

// MovedWord is a move that was made.
func MovedWord(do admin.Move) string {
	switch do {
	case admin.Discard:
		return "Discarded"
	case admin.RestoreLetters:
		return "Restored"
	default:
		return "Requeued"
	}
}

// OutcomeTier grades what became of one message.
func OutcomeTier(outcome string) string {
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

// Messages writes a number of messages.
func Messages[N templates.Amount](n N) string { return show.Counted(n, "message") }

// FateWord is what became of a message after it was moved, as pages say it.
func FateWord(became string) string {
	switch became {
	case jobs.BecameBack:
		return "dead again"
	case jobs.BecameNone:
		return "no marker"
	default:
		return became
	}
}

// ItemTier is the colour of what a job did with a message: of what became of it where that is known.
func ItemTier(item jobs.JobItem) string {
	switch item.Became {
	case "":
		return OutcomeTier(item.Outcome)
	case jobs.BecameBack, jobs.BecameFailed:
		return dedup.Severe.String()
	case jobs.BecameDone:
		return dedup.Normal.String()
	}
	return dedup.TierUnknown.String()
}

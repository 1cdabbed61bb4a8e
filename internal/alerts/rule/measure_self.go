package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dedup-dashboard/internal/dedup"
)

// ofSelf is a measure of the dashboard itself.
func ofSelf(judge func(self Self, r Rule, j Judgement) Judgement) measure {
	return measure{kind: OfDashboard, judge: func(in *Round, _ *Subject, r Rule, j Judgement) Judgement { return judge(in.Self, r, j) }}
}

// watchdog always fires: what is amiss is that it does not arrive.
func watchdog(_ Self, _ Rule, j Judgement) Judgement {
	j.Enters, j.Holds, j.Value = dedup.Warning, dedup.Warning, 1
	j.Why = "the dashboard evaluates its rules; this alert always fires, and is missed when it does not arrive"
	return j
}

// evaluationLate judges how long ago the rules were evaluated before. No limit is below three intervals.
func evaluationLate(self Self, r Rule, j Judgement) Judgement {
	if self.LastEvaluation.IsZero() {
		return j.Unjudged(HealthNoData, "rules are evaluated for the first time")
	}
	r.Limits = r.Limits.atLeast(3 * self.Interval.Seconds())
	late := max(0, j.At.Sub(self.LastEvaluation).Seconds())
	return j.judged(r, "the last evaluation of the rules was "+secondsText(late)+" ago", late)
}

func outboxAge(self Self, r Rule, j Judgement) Judgement {
	if self.Outbox.Oldest.IsZero() {
		return j.judged(r, "no notification waits for its delivery", 0)
	}
	age := max(0, j.At.Sub(self.Outbox.Oldest).Seconds())
	to := ""
	if self.Outbox.Channel != "" {
		to = " to " + self.Outbox.Channel
	}
	if self.Outbox.Waiting > 1 {
		j.Evidence = []string{Number(float64(self.Outbox.Waiting)) + " notifications wait"}
	}
	j = j.judged(r, "the oldest notification has waited for its delivery"+to+" for "+secondsText(age), age)
	if self.Outbox.Error != "" {
		j.Why += ": " + inShort(self.Outbox.Error)
	}
	return j
}

// diskUsed judges the share of the file system of the data directory that is taken.
func diskUsed(self Self, r Rule, j Judgement) Judgement {
	free := self.DiskFree
	if free == nil || !Finite(*free) {
		return j.Unjudged(HealthNoData, "how full the disk of the data directory is cannot be told")
	}
	return j.judged(r, "the disk of the data directory is "+percent(1-*free)+" full", 1-*free)
}

// deliveriesFailed names the channels and the first reason in its one line: whoever is told by another channel sees no more than that.
func deliveriesFailed(self Self, r Rule, j Judgement) Judgement {
	n, errs := float64(self.Outbox.Failed), self.Outbox.Errors
	j.Evidence = errs
	if n == 0 {
		return j.judged(r, "every channel took what it was sent, or is still tried", 0)
	}
	channels, reason := failing(errs)
	what := Figured(n, "notification") + " given up"
	if len(channels) > 0 {
		what += " by " + inWords(channels)
	}
	j = j.judged(r, what, n)
	if reason != "" {
		j.Why += ": " + inShort(reason)
	}
	return j
}

// receiverFaults judges for how long a receiver took nothing that another one of its channel took: of them all, the longest. Time in which
// nothing was sent does not count: it may be well since.
func receiverFaults(self Self, r Rule, j Judgement) Judgement {
	lasted := func(f ReceiverFault) float64 { return max(0, f.Last.Sub(f.Since).Seconds()) }
	longestFirst := slices.SortedStableFunc(slices.Values(self.ReceiverFaults), func(x, y ReceiverFault) int { return cmp.Compare(lasted(y), lasted(x)) })
	if len(longestFirst) == 0 {
		return j.judged(r, "every receiver of a channel takes what it is sent, or none of it does", 0)
	}
	for _, f := range longestFirst[1:] {
		j.Evidence = append(j.Evidence, fmt.Sprintf("%s of %s too, for %s: %s", f.Receiver, f.Channel, secondsText(lasted(f)), inShort(f.Text)))
	}
	worst := longestFirst[0]
	what := fmt.Sprintf("%s, one of the receivers of %s, took nothing of what it was sent for %s", worst.Receiver, worst.Channel, secondsText(lasted(worst)))
	j = j.judged(r, what, lasted(worst))
	j.Why += ": " + inShort(worst.Text)
	return j
}

// failing returns the channels of errors that begin with them, and what the first one says.
func failing(errs []string) (channels []string, reason string) {
	for i, text := range errs {
		channel, said, named := strings.Cut(text, ": ")
		if !named {
			channel, said = "", text
		}
		if i == 0 {
			reason = said
		}
		if channel != "" {
			channels = append(channels, channel)
		}
	}
	return channels, reason
}

// inWords lists some names, and counts the others.
func inWords(names []string) string {
	const most = 3
	if len(names) > most {
		names = append(names[:most-1:most-1], fmt.Sprintf("%d others", len(names)-most+1))
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// inShort bounds a reason that is told in one line.
func inShort(reason string) string {
	const most = 200
	if runes := []rune(reason); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return reason
}

func auditRefused(self Self, r Rule, j Judgement) Judgement {
	if self.AuditRefused == "" {
		return j.judged(r, "the audit log takes entries", 0)
	}
	j = j.judged(r, "", 1)
	j.Why = "the audit log takes no entry, and nothing can be acted on: " + inShort(self.AuditRefused)
	return j
}

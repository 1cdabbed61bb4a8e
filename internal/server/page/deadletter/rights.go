package deadletter

import (
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/web/templates"
)

// restrict takes from an operator what would only be refused, says why, and offers the first messages where their number is the reason.
func (d queuePage) restrict(b *templates.LetterBar, matching []deadletter.Letter) {
	b.NoDiscard, b.NoRestore = letter.NeedsAdmin(d.who, "Discarding"), letter.NeedsAdmin(d.who, "Restoring")
	if d.who.Can(auth.Admin) || b.Parking {
		return
	}
	switch most := d.view.OperatorLimit; {
	case !b.Filtered:
		b.NoAll = letter.NeedsAdmin(d.who, "Requeueing a whole queue")
	case b.Matching > most:
		b.NoAll = "Operators requeue at most " + letter.Messages(most) + " at once."
	}
	if b.NoAll != "" {
		b.First = len(letter.First(matching, d.view.OperatorLimit, ""))
	}
}

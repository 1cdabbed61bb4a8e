package act

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// rowFault classes an error of a database by what it means for an action.
type rowFault int

// The faults of an action. An error that is no answer of the server is faultLost.
const (
	faultLost rowFault = iota
	// faultBusy: the server takes no connection or statement at the moment.
	faultBusy
	// faultSlow: the server ended the statement because it took too long.
	faultSlow
	faultLocked
	faultTaken
	faultDenied
	faultReadOnly
	faultLogin
	faultOther
)

// describe word an error before which nothing was done.
func (a *actor) describe(fault rowFault, err error, r *rowAct) string {
	server := a.d.Name() + " at " + a.at.Addr
	said := codec.Printable(err.Error())
	switch fault {
	case faultLost:
		return server + " did not answer, and nothing was committed: " + said
	case faultBusy:
		return server + " takes no work at the moment: " + said
	case faultSlow:
		return fmt.Sprintf("%s ended a statement after %s, and nothing was done: %s", server, dialect.QueryLimit, said)
	case faultTaken:
		return string(errTaken)
	case faultDenied:
		return server + " does not let the acting account do this (" + said + "): " + a.d.actGrant(a, r)
	case faultReadOnly:
		return server + " cannot be written to: point act.sql.dsn at the primary (" + said + ")"
	case faultLogin:
		return server + " refused the user name or password: check act.sql.dsn"
	}
	return server + " refused, and nothing was done: " + said
}

// describeNow say what became of a row that is not what was seen.
func (r *rowAct) describeNow(now *dedup.Sighting, differing []string) string {
	text := "now " + string(now.State)
	if now.State == r.seen.State {
		text = "now " + string(now.State) + " again"
	}
	if now.State == dedup.StateUnknown && now.Detail != "" {
		text += " (" + now.Detail + ")"
	}
	if !now.Since.IsZero() {
		text += " since " + dayAndTime(now.Since)
	}
	return text + "; changed: " + describeColumns(differing)
}

func dayAndTime(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

// holder names who holds the row, as far as the account may see it; empty where it may not.
func (r *rowAct) holder(ctx context.Context) string {
	if r.layout == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	// InnoDB tells what was a moment ago, until nobody has asked for 0.1 s.
	for tries := 1; ; tries++ {
		found, ours, err := r.sessions(ctx)
		switch {
		case err != nil || len(found) == 0 && tries == 4:
			return ""
		case len(found) == 0:
			if pace.Sleep(ctx, 120*time.Millisecond) != nil {
				return ""
			}
			continue
		case len(found) == 1 && ours:
			return ", perhaps " + found[0]
		case len(found) == 1:
			return ": " + found[0]
		}
		return ", one of these: " + strings.Join(found[:min(3, len(found))], "; ")
	}
}

// sessions describes the sessions that may hold the row, without our own, and says whether there were such: those hold
// other rows, held this one a moment ago, or do the same as we.
func (r *rowAct) sessions(ctx context.Context) (found []string, ours bool, err error) {
	query, args := r.d.holders(r)
	rows, err := r.actor.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var user, host sql.NullString
		var seconds sql.NullFloat64
		if err := rows.Scan(&id, &user, &host, &seconds); err != nil {
			return nil, false, err
		}
		if r.actor.own(id) {
			ours = true
		} else {
			found = append(found, describeSession(user, host, seconds))
		}
	}
	return found, ours, rows.Err()
}

func describeSession(user, host sql.NullString, seconds sql.NullFloat64) string {
	text := "a session"
	switch {
	case user.Valid && host.String != "":
		text = codec.Printable(user.String + "@" + host.String)
	case user.Valid:
		text = codec.Printable(user.String)
	}
	if seconds.Valid {
		text += fmt.Sprintf(", open for %.0f s", max(0, seconds.Float64))
	}
	return text
}

// settleFor is how long we wait until the server has noticed that the connection of a COMMIT is lost.
const settleFor = 2 * time.Second

// settle finds out what became of a COMMIT whose answer was lost, over another connection. While its transaction is still
// open there, it asks again.
func (r *rowAct) settle(ctx context.Context, commit *commitError) dedup.Outcome {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actLimit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(settleFor); ; {
		outcome, open := r.ask(ctx, commit)
		if !open || time.Now().After(deadline) {
			return outcome
		}
		<-tick.C
	}
}

// ask asks once for the fate of a COMMIT. Where the server remembers the fate of transactions it is asked; elsewhere the
// row tells, as far as it can. Open means that the transaction may not have ended yet.
func (r *rowAct) ask(ctx context.Context, commit *commitError) (outcome dedup.Outcome, open bool) {
	lost := "the answer to the COMMIT was lost (" + codec.Printable(commit.err.Error()) + ")"
	seen := r.seen
	seen.Server = r.layout.Identity().Text()
	again := &rowAct{actor: r.actor, d: r.d, seen: seen}
	if err := again.begin(ctx); err != nil {
		return dedup.Outcome{Result: dedup.UnknownOutcome, Text: lost + ", and the row could not be read again: " + codec.Printable(err.Error())}, false
	}
	defer again.end()
	fate := r.d.fate(ctx, again.tx, r.id)
	switch {
	case fate == fateCommitted:
		return r.done, false
	case fate == fateAborted && r.d.fault(commit.err) != faultLost:
		return rowRefused(r.actor.describe(r.d.fault(commit.err), commit.err, r)), false
	case fate == fateAborted:
		return dedup.Outcome{Result: dedup.NotDone, Text: "the connection was lost, and the server rolled back"}, false
	}
	now, _, err := again.read(ctx, again.tx, r.d.locking(again.layout.Server))
	if err != nil {
		outcome = dedup.Outcome{Result: dedup.UnknownOutcome, Text: lost + ", and the row could not be read again: " + codec.Printable(err.Error())}
		if r.d.fault(err) == faultLocked {
			outcome.Text = lost + ", and a transaction still holds the row"
		}
		return outcome, r.d.fault(err) == faultLocked
	}
	return r.lostAnswer(ctx, again, now, lost), fate == fateOpen
}

// lostAnswer says what the row shows of a COMMIT whose answer was lost; the row is locked, so that COMMIT has ended.
func (r *rowAct) lostAnswer(ctx context.Context, again *rowAct, now *dedup.Sighting, lost string) dedup.Outcome {
	open := dedup.Outcome{Result: dedup.UnknownOutcome, Now: now}
	if now == nil {
		switch {
		case r.after == nil:
			open.Text = lost + "; the row is gone now: it was cleared, or a consumer deleted it"
		default:
			return dedup.Outcome{Result: dedup.NotDone, Text: lost + "; there is no row"}
		}
		return open
	}
	is, err := again.image(ctx)
	switch {
	case err != nil:
		open.Text = lost + ", and the row could not be read again: " + codec.Printable(err.Error())
	case r.after != nil && len(r.after.differing(is)) == 0:
		return r.done
	case r.before != nil && len(r.before.differing(is)) == 0:
		return dedup.Outcome{Result: dedup.NotDone, Text: lost + "; the row is there as it was seen", Now: now}
	default:
		open.Text = lost + "; the row is " + r.describeNow(now, r.before.differing(is))
	}
	return open
}

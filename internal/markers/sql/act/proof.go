package act

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// comparable says why equal columns would not prove that a row is the one that was seen, untouched since.
func (r *rowAct) comparable(seen texts) error {
	watched := map[string]bool{}
	for _, c := range r.layout.Watched {
		watched[c.Name] = true
		if _, ok := seen[c.Name]; !ok {
			return rowRefusal("column " + codec.Printable(c.Name) + " was not seen: look at the marker again")
		}
	}
	for name := range seen {
		if !watched[name] {
			return rowRefusal("column " + codec.Printable(name) + " was seen and is not read any more: look at the marker again")
		}
	}
	numbered := slices.ContainsFunc(r.layout.Key, func(c dialect.Column) bool { return r.traits.automatic[c.Name] })
	switch {
	case r.layout.Updated == nil && r.actor.cfg.OnFail == "keep" && r.actor.cfg.Retakes != markers.RetakesNever:
		return rowRefusal("a consumer may take the row again in place (on_fail: keep), which no column tells: name the time of the last change in columns.updated, " +
			"or write retakes: never if no consumer ever takes a row again that it finds")
	case r.layout.Updated == nil && numbered:
		return nil
	case r.layout.Updated == nil && r.layout.Created == nil:
		return rowRefusal("a new row with this id would look the same: the table has neither a time (columns.created, columns.updated) nor a key that counts up")
	case r.seen.Since.IsZero() && numbered:
		// The time of the last change is empty, and would not be after one.
		return nil
	case r.seen.Since.IsZero():
		return rowRefusal("a new row with this id would look the same: its time is empty")
	}
	if settled := r.settled(); r.seen.Clock.Sub(r.seen.Since) < settled {
		return rowRefusal("it was younger than " + settled.String() + " when it was seen: look at it again")
	}
	return nil
}

// settled is the age that a row must have had when it was seen: one that is taken again within the step in which its
// times count looks the same. Many columns count whole seconds, and dates whole days.
func (r *rowAct) settled() time.Duration {
	column := r.layout.Updated
	if column == nil {
		column = r.layout.Created
	}
	if column != nil && column.Type == "date" {
		return 48 * time.Hour
	}
	return 2 * time.Second
}

// How much earlier and later than it reads an expiry may have been meant: by the time that passes until it is read again,
// and the half second of a column that rounds to whole ones.
const (
	expiryEarly = time.Second
	expiryLate  = statementLimit + time.Second
)

// expired reads the row again before the COMMIT: it must have the expiry that was meant, and be the same otherwise.
func (r *rowAct) expired(ctx context.Context, ttl time.Duration) error {
	meant := r.clock().Add(ttl)
	now, _, err := r.read(ctx, r.tx, "")
	if err != nil {
		return err
	}
	if r.after, err = r.image(ctx); err != nil {
		return err
	}
	others := slices.DeleteFunc(r.before.differing(r.after), func(name string) bool { return name == r.layout.Expires.Name })
	switch {
	case now == nil || now.ExpiresMillis == dedup.NoExpiry:
		return rowRefusal("the server did not keep the expiry: nothing was done")
	case now.Expires.Before(meant.Add(-expiryLate)) || now.Expires.After(meant.Add(expiryEarly)):
		return rowRefusal(fmt.Sprintf("column %s would read %s where %s was meant, as in the hour that a clock repeats: nothing was done",
			codec.Printable(r.layout.Expires.Name), dayAndTime(now.Expires), dayAndTime(meant)))
	case len(others) > 0:
		return rowRefusal("the server changed " + describeColumns(others) + " along with it: nothing was done")
	}
	r.done = dedup.Outcome{Result: dedup.ExpirySet, Text: "expires " + dayAndTime(now.Expires), Now: now}
	return r.commit()
}

// quiet refuses statements for which the table has triggers or rules now: what they would do does not show before.
func (r *rowAct) quiet(ctx context.Context, statements ...string) error {
	ctx, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	triggers, err := r.d.triggers(ctx, r.tx, r.layout.Table)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if name := triggers[statement]; name != "" {
			return rowRefusal(statement + " has " + name + " on this table: what that does cannot be foreseen or undone, so nothing was done")
		}
	}
	return nil
}

// change runs a statement that changes the one row, and makes sure by the server's own count that it changed nothing else:
// a trigger of MySQL shows only to accounts with the right to make triggers.
func (r *rowAct) change(ctx context.Context, statement string, args ...any) (int64, error) {
	first, err := r.d.writes(ctx, r.tx)
	if err != nil {
		return 0, err
	}
	before, err := r.d.writes(ctx, r.tx)
	if err != nil {
		return 0, err
	}
	n, err := r.affect(ctx, statement, args...)
	if err != nil {
		return n, err
	}
	after, err := r.d.writes(ctx, r.tx)
	if err != nil {
		return 0, err
	}
	if n != 1 {
		return n, nil
	}
	verb, _, _ := strings.Cut(statement, " ")
	for _, kind := range slices.Sorted(maps.Keys(after)) {
		// Asking may count by itself.
		wrote, most := after[kind]-before[kind]-(before[kind]-first[kind]), int64(0)
		if kind == verb {
			most = countedWrites(r.layout.Table)
		}
		if wrote > most {
			return 0, rowRefusal(fmt.Sprintf("the %s also made the server %s %d other rows, as a trigger does, and nothing was done: GRANT TRIGGER ON the table lets its name be shown",
				verb, strings.ToLower(kind), wrote-min(most, 1)))
		}
	}
	return n, nil
}

// countedWrites is how often a server may count one change of one row: those in parts are counted in the part too.
func countedWrites(t *dialect.Table) int64 {
	if t.Partitioned {
		return 2
	}
	return 1
}

package act

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/sql/dialect"
)

// clear deletes the row, locked and compared, after its image was kept.
func (r *rowAct) clear(ctx context.Context, keep func(dedup.Sighting) error) error {
	now, err := r.compare(ctx)
	if err != nil {
		return err
	}
	// An INSERT is what undoes it.
	if err := r.quiet(ctx, "DELETE", "INSERT"); err != nil {
		return err
	}
	if r.before, err = r.image(ctx); err != nil {
		return err
	}
	image := *now
	image.Value = r.before.json()
	if err := keep(image); err != nil {
		return rowRefusal("its image could not be kept, so it was not cleared: " + codec.Printable(err.Error()))
	}
	seen, err := readTexts(r.seen.Value)
	if err != nil {
		return err
	}
	condition, args := r.unchanged(r.before.part(seen), r.d.exact, r.key)
	n, err := r.change(ctx, "DELETE FROM "+r.table()+" WHERE "+condition, args...)
	if err != nil {
		return err
	}
	if n != 1 {
		return rowRefusal(fmt.Sprintf("the server deleted %d rows instead of the one that is there: a trigger or a rule of the table stops it; nothing was done", n))
	}
	r.done = dedup.Outcome{Result: dedup.Cleared}
	return r.commit()
}

// compare locks the row and returns it as it is now. One that is not what was seen ends the action.
func (r *rowAct) compare(ctx context.Context) (*dedup.Sighting, error) {
	seen, err := readTexts(r.seen.Value)
	if err != nil {
		return nil, err
	}
	if err := r.comparable(seen); err != nil {
		return nil, err
	}
	now, columns, err := r.read(ctx, r.tx, r.d.locking(r.layout.Server))
	if err != nil {
		return nil, err
	}
	if now == nil {
		return nil, &ended{Result: dedup.Gone}
	}
	if names := seen.differing(columns); len(names) > 0 {
		return nil, &ended{Result: dedup.Changed, Text: r.describeNow(now, names), Now: now}
	}
	return now, nil
}

// expire sets the expiry of the row.
func (r *rowAct) expire(ctx context.Context, ttl time.Duration) error {
	column := r.layout.Expires
	if column.Kind != dialect.ZonedTime && column.Kind != dialect.LocalTime {
		return rowRefusal("column " + codec.Printable(column.Name) + " is a number, and the row does not tell its unit")
	}
	if _, err := r.compare(ctx); err != nil {
		return err
	}
	if err := r.quiet(ctx, "UPDATE"); err != nil {
		return err
	}
	seen, err := readTexts(r.seen.Value)
	if err != nil {
		return err
	}
	if text := seen[column.Name]; text != nil && *text != "infinity" {
		return rowRefusal("its expiry is " + codec.Printable(*text) + ", not empty")
	}
	if r.before, err = r.image(ctx); err != nil {
		return err
	}
	if err := r.inZone(ctx, r.layout.Server.Zone); err != nil {
		return err
	}
	assignments := r.d.Quote(column.Name) + " = " + r.d.fromNow(*column, r.layout.Server.Zone, ttl)
	for _, c := range r.writable() {
		if r.traits.refreshed[c.Name] && c.Name != column.Name {
			assignments += ", " + r.d.Quote(c.Name) + " = " + r.d.Quote(c.Name)
		}
	}
	condition, args := r.unchanged(seen, r.d.Text, r.key)
	n, err := r.change(ctx, "UPDATE "+r.table()+" SET "+assignments+" WHERE "+condition, args...)
	if err != nil {
		return err
	}
	if n != 1 {
		return rowRefusal(fmt.Sprintf("the server changed %d rows instead of one: a trigger or a rule of the table stops it; nothing was done", n))
	}
	return r.expired(ctx, ttl)
}

// restore inserts the row of the image, reads it again and commits only if it is the same to the last byte.
func (r *rowAct) restore(ctx context.Context) error {
	if err := r.quiet(ctx, "INSERT"); err != nil {
		return err
	}
	image, err := readTexts(r.seen.Value)
	if err != nil {
		return err
	}
	if r.seen.ExpiresMillis != dedup.NoExpiry && r.seen.ExpiresMillis <= r.clock().UnixMilli() {
		return rowRefusal("already expired, nothing restored")
	}
	columns, err := r.imageColumns(image)
	if err != nil {
		return err
	}
	if err := r.taken(ctx, image); err != nil {
		return err
	}
	if err := r.inZone(ctx, universal); err != nil {
		return err
	}
	if lenient := r.d.lenient(); lenient != "" {
		if err := r.exec(ctx, lenient); err != nil {
			return err
		}
	}
	places, args := make([]string, len(columns)), make([]any, len(columns))
	for i, c := range columns {
		places[i], args[i] = r.d.value(c, i+1), image[c.Name]
	}
	statement := "INSERT INTO " + r.table() + " (" + dialect.Names(r.d, columns) + ") " + r.d.overriding() + "VALUES (" + strings.Join(places, ", ") + ")"
	if _, err := r.change(ctx, statement, args...); err != nil {
		if r.d.fault(err) == faultTaken {
			return errTaken
		}
		return err
	}
	return r.restored(ctx, image)
}

func (r *rowAct) restored(ctx context.Context, image texts) error {
	var err error
	if r.after, err = r.image(ctx); err != nil {
		return err
	}
	if names := image.differing(r.after); len(names) > 0 {
		// The types of the columns may be others than those that are remembered.
		r.actor.remember(nil)
		return rowRefusal("the server stored " + describeColumns(names) + " otherwise than it was: nothing was restored")
	}
	r.done = dedup.Outcome{Result: dedup.Restored}
	return r.commit()
}

// imageColumns are the columns of the image in the order of the table.
func (r *rowAct) imageColumns(image texts) ([]dialect.Column, error) {
	var columns []dialect.Column
	missing := make(texts, len(image))
	for name, text := range image {
		missing[name] = text
	}
	for _, c := range r.writable() {
		if _, ok := image[c.Name]; ok {
			columns = append(columns, c)
			delete(missing, c.Name)
		}
	}
	if len(missing) > 0 {
		return nil, rowRefusal("the table has changed since: it has no column " + describeColumns(missing.differing(nil)) + " to restore")
	}
	return columns, nil
}

// errTaken refuses a restore beside a marker.
const errTaken = rowRefusal("there is a marker again: nothing was overwritten")

// taken refuses where there is a row with the primary key or the message id of the image. Not every table has a
// unique key on the id, so it is looked for.
func (r *rowAct) taken(ctx context.Context, image texts) error {
	now, _, err := r.read(ctx, r.tx, "")
	if err != nil {
		return err
	}
	if now != nil {
		return &ended{Result: dedup.Refused, Text: string(errTaken), Now: now}
	}
	var args []any
	for _, c := range r.layout.IDs {
		text := image[c.Name]
		if text == nil {
			return nil
		}
		args = append(args, *text)
	}
	ctx, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	var n int
	err = r.tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+r.table()+" WHERE "+dialect.Equals(r.d, r.layout.IDs, 1)+" LIMIT 1) again", args...).Scan(&n)
	if err != nil || n == 0 {
		return err
	}
	return errTaken
}

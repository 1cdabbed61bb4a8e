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
func (r *rowAct) clear(ctx context.Context, keep func(dedup.Sighting) error) (dedup.Outcome, error) {
	now, outcome, err := r.compare(ctx)
	if outcome != nil || err != nil {
		return value(outcome), err
	}
	// An INSERT is what undoes it.
	if err := r.quiet(ctx, "DELETE", "INSERT"); err != nil {
		return dedup.Outcome{}, err
	}
	if r.before, err = r.image(ctx); err != nil {
		return dedup.Outcome{}, err
	}
	image := *now
	image.Value = r.before.json()
	if err := keep(image); err != nil {
		return dedup.Outcome{}, rowRefusal("its image could not be kept, so it was not cleared: " + codec.Printable(err.Error()))
	}
	seen, err := readTexts(r.seen.Value)
	if err != nil {
		return dedup.Outcome{}, err
	}
	condition, args := r.unchanged(r.before.part(seen), r.d.exact, r.key)
	n, err := r.change(ctx, "DELETE FROM "+r.table()+" WHERE "+condition, args...)
	if err != nil {
		return dedup.Outcome{}, err
	}
	if n != 1 {
		return dedup.Outcome{}, rowRefusal(fmt.Sprintf("the server deleted %d rows instead of the one that is there: a trigger or a rule of the table stops it; nothing was done", n))
	}
	r.done = dedup.Outcome{Result: dedup.Cleared}
	return r.commit()
}

// compare locks the row and returns it as it is now, or the outcome if it is not what was seen.
func (r *rowAct) compare(ctx context.Context) (*dedup.Sighting, *dedup.Outcome, error) {
	seen, err := readTexts(r.seen.Value)
	if err != nil {
		return nil, nil, err
	}
	if err := r.comparable(seen); err != nil {
		return nil, nil, err
	}
	now, columns, err := r.read(ctx, r.tx, r.d.locking(r.layout.Server))
	if err != nil {
		return nil, nil, err
	}
	if now == nil {
		return nil, &dedup.Outcome{Result: dedup.Gone}, nil
	}
	if names := seen.differing(columns); len(names) > 0 {
		return nil, &dedup.Outcome{Result: dedup.Changed, Text: r.describeNow(now, names), Now: now}, nil
	}
	return now, nil, nil
}

// expire sets the expiry of the row.
func (r *rowAct) expire(ctx context.Context, ttl time.Duration) (dedup.Outcome, error) {
	column := r.layout.Expires
	if column.Kind != dialect.ZonedTime && column.Kind != dialect.LocalTime {
		return dedup.Outcome{}, rowRefusal("column " + codec.Printable(column.Name) + " is a number, and the row does not tell its unit")
	}
	_, outcome, err := r.compare(ctx)
	if outcome != nil || err != nil {
		return value(outcome), err
	}
	if err := r.quiet(ctx, "UPDATE"); err != nil {
		return dedup.Outcome{}, err
	}
	seen, err := readTexts(r.seen.Value)
	if err != nil {
		return dedup.Outcome{}, err
	}
	if text := seen[column.Name]; text != nil && *text != "infinity" {
		return dedup.Outcome{}, rowRefusal("its expiry is " + codec.Printable(*text) + ", not empty")
	}
	if r.before, err = r.image(ctx); err != nil {
		return dedup.Outcome{}, err
	}
	if err := r.inZone(ctx, r.layout.Server.Zone); err != nil {
		return dedup.Outcome{}, err
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
		return dedup.Outcome{}, err
	}
	if n != 1 {
		return dedup.Outcome{}, rowRefusal(fmt.Sprintf("the server changed %d rows instead of one: a trigger or a rule of the table stops it; nothing was done", n))
	}
	return r.expired(ctx, ttl)
}

// restore inserts the row of the image, reads it again and commits only if it is the same to the last byte.
func (r *rowAct) restore(ctx context.Context) (dedup.Outcome, error) {
	if err := r.quiet(ctx, "INSERT"); err != nil {
		return dedup.Outcome{}, err
	}
	image, err := readTexts(r.seen.Value)
	if err != nil {
		return dedup.Outcome{}, err
	}
	if r.seen.ExpiresMillis != dedup.NoExpiry && r.seen.ExpiresMillis <= r.clock().UnixMilli() {
		return dedup.Outcome{}, rowRefusal("already expired, nothing restored")
	}
	columns, err := r.imageColumns(image)
	if err != nil {
		return dedup.Outcome{}, err
	}
	if outcome, err := r.taken(ctx, image); outcome != nil || err != nil {
		return value(outcome), err
	}
	if err := r.inZone(ctx, universal); err != nil {
		return dedup.Outcome{}, err
	}
	if lenient := r.d.lenient(); lenient != "" {
		if err := r.exec(ctx, lenient); err != nil {
			return dedup.Outcome{}, err
		}
	}
	places, args := make([]string, len(columns)), make([]any, len(columns))
	for i, c := range columns {
		places[i], args[i] = r.d.value(c, i+1), image[c.Name]
	}
	statement := "INSERT INTO " + r.table() + " (" + dialect.Names(r.d, columns) + ") " + r.d.overriding() + "VALUES (" + strings.Join(places, ", ") + ")"
	if _, err := r.change(ctx, statement, args...); err != nil {
		if r.d.fault(err) == faultTaken {
			return rowRefused("there is a marker again: nothing was overwritten"), nil
		}
		return dedup.Outcome{}, err
	}
	return r.restored(ctx, image)
}

func (r *rowAct) restored(ctx context.Context, image texts) (dedup.Outcome, error) {
	var err error
	if r.after, err = r.image(ctx); err != nil {
		return dedup.Outcome{}, err
	}
	if names := image.differing(r.after); len(names) > 0 {
		// The types of the columns may be others than those that are remembered.
		r.actor.remember(nil)
		return dedup.Outcome{}, rowRefusal("the server stored " + describeColumns(names) + " otherwise than it was: nothing was restored")
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

// taken returns the outcome if there is a row with the primary key or the message id of the image. Not every table has a
// unique key on the id, so it is looked for.
func (r *rowAct) taken(ctx context.Context, image texts) (*dedup.Outcome, error) {
	again := rowRefused("there is a marker again: nothing was overwritten")
	now, _, err := r.read(ctx, r.tx, "")
	if err != nil {
		return nil, err
	}
	if now != nil {
		again.Now = now
		return &again, nil
	}
	var parts []string
	var args []any
	for _, c := range r.layout.IDs {
		text := image[c.Name]
		if text == nil {
			return nil, nil
		}
		args = append(args, *text)
		parts = append(parts, r.d.Quote(c.Name)+" = "+r.d.Param(c, len(args)))
	}
	ctx, cancel := context.WithTimeout(ctx, statementLimit)
	defer cancel()
	var n int
	err = r.tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+r.table()+" WHERE "+strings.Join(parts, " AND ")+" LIMIT 1) again", args...).Scan(&n)
	if err != nil || n == 0 {
		return nil, err
	}
	return &again, nil
}

func value(outcome *dedup.Outcome) dedup.Outcome {
	if outcome == nil {
		return dedup.Outcome{}
	}
	return *outcome
}

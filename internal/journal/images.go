package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
)

// Try notes that an item is about to be acted on. It fails with marker.ErrTried when the item was begun before.
func (o *Operations) Try(ctx context.Context, operation string, item int, at time.Time) error {
	_, err := o.write.ExecContext(ctx, "INSERT INTO outcomes (operation, item, tried_at) VALUES (?, ?, ?)", operation, item, at.UnixMilli())
	if isConstraint(err) {
		return fmt.Errorf("%w: %w", marker.ErrTried, err)
	}
	if err != nil {
		return fmt.Errorf("note item: %w", err)
	}
	return nil
}

// Done notes the outcome of an item that was tried.
func (o *Operations) Done(ctx context.Context, operation string, out marker.ItemOutcome) error {
	body, err := encodeOutcome(out.Outcome)
	if err != nil {
		return fmt.Errorf("note outcome: %w", err)
	}
	res, err := o.write.ExecContext(ctx, `
		UPDATE outcomes SET done_at = ?, result = ?, body = ?, restorable_until = ?
		WHERE operation = ? AND item = ? AND done_at IS NULL`,
		out.At.UnixMilli(), string(out.Outcome.Result), body, toMillis(out.Restorable), operation, out.Item)
	if err != nil {
		return fmt.Errorf("note outcome: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("note outcome of item %d: it is not under way: %w", out.Item, errors.Join(err, sql.ErrNoRows))
	}
	return nil
}

// Keep keeps the image of a marker until the given time.
func (o *Operations) Keep(ctx context.Context, operation string, item int, image dedup.Sighting, until time.Time) error {
	body, err := encodeSighting(image)
	if err != nil {
		return fmt.Errorf("keep image: %w", err)
	}
	value := image.Value
	if value == nil {
		value = []byte{} // nil would be NULL
	}
	_, err = o.write.ExecContext(ctx, `
		INSERT INTO images (operation, item, kept_until, size, hash, body, value) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		operation, item, until.UnixMilli(), len(value), admin.ValueHash(image.Value), body, value)
	if err != nil {
		return fmt.Errorf("keep image: %w", err)
	}
	return nil
}

// Claim reserves an image for a restore and returns it. It takes over the claim of the interrupted restore, "" for none. It
// fails with marker.ErrNoImage when there is no image any more, or another restore has claimed it.
func (o *Operations) Claim(ctx context.Context, operation string, item int, restore, interrupted string) (dedup.Sighting, error) {
	var body string
	var value []byte
	err := o.write.QueryRowContext(ctx, `
		UPDATE images SET restored_by = ? WHERE operation = ? AND item = ? AND (restored_by IS NULL OR restored_by = ?)
		RETURNING body, value`, restore, operation, item, interrupted).Scan(&body, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return dedup.Sighting{}, marker.ErrNoImage
	}
	if err != nil {
		return dedup.Sighting{}, fmt.Errorf("claim image: %w", err)
	}
	image, err := decodeSighting(body)
	image.Value = value
	return image, err
}

// Release gives a claimed image back.
func (o *Operations) Release(ctx context.Context, operation string, item int, restore string) error {
	_, err := o.write.ExecContext(ctx, "UPDATE images SET restored_by = NULL WHERE operation = ? AND item = ? AND restored_by = ?", operation, item, restore)
	if err != nil {
		return fmt.Errorf("release image: %w", err)
	}
	return nil
}

// Images returns what is kept of an operation by item, without the values.
func (o *Operations) Images(ctx context.Context, operation string) (map[int]marker.KeptImage, error) {
	rows, err := o.read.QueryContext(ctx, "SELECT item, kept_until, coalesce(restored_by, ''), size, hash, body FROM images WHERE operation = ?", operation)
	if err != nil {
		return nil, fmt.Errorf("read images: %w", err)
	}
	defer func() { _ = rows.Close() }()
	images := map[int]marker.KeptImage{}
	for rows.Next() {
		var item int
		var until sql.NullInt64
		var k marker.KeptImage
		var body string
		if err := rows.Scan(&item, &until, &k.RestoredBy, &k.Size, &k.Hash, &body); err != nil {
			return nil, fmt.Errorf("read images: %w", err)
		}
		if k.Seen, err = decodeSighting(body); err != nil {
			return nil, err
		}
		k.Until = fromMillis(until)
		images[item] = k
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read images: %w", err)
	}
	return images, nil
}

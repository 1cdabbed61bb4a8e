package journal

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
)

// Try notes that an item is about to be acted on. It fails with marker.ErrTried when the item was begun before.
func (o *Operations) Try(ctx context.Context, operation string, item int, at time.Time) error {
	err := exec(ctx, o.write, "note item", do("INSERT INTO outcomes (operation, item, tried_at) VALUES (?, ?, ?)", operation, item, at.UnixMilli()))
	if isConstraint(err) {
		return fmt.Errorf("%w: %w", marker.ErrTried, err)
	}
	return err
}

// Done notes the outcome of an item that was tried.
func (o *Operations) Done(ctx context.Context, operation string, out marker.ItemOutcome) error {
	body, err := encodeOutcome(out.Outcome)
	if err != nil {
		return fmt.Errorf("note outcome: %w", err)
	}
	n, err := rowsChanged(ctx, o.write, `
		UPDATE outcomes SET done_at = ?, result = ?, body = ?, restorable_until = ?
		WHERE operation = ? AND item = ? AND done_at IS NULL`,
		out.At.UnixMilli(), string(out.Outcome.Result), body, toMillis(out.Restorable), operation, out.Item)
	switch {
	case err != nil:
		return fmt.Errorf("note outcome: %w", err)
	case n != 1:
		return fmt.Errorf("note outcome of item %d: it is not under way: %w", out.Item, sql.ErrNoRows)
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
	return exec(ctx, o.write, "keep image", do(`
		INSERT INTO images (operation, item, kept_until, size, hash, body, value) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		operation, item, until.UnixMilli(), len(value), admin.ValueHash(image.Value), body, value))
}

// Claim reserves an image for a restore and returns it. It takes over the claim of the interrupted restore, "" for none. It
// fails with marker.ErrNoImage when there is no image any more, or another restore has claimed it.
func (o *Operations) Claim(ctx context.Context, operation string, item int, restore, interrupted string) (dedup.Sighting, error) {
	image, there, err := one(ctx, o.write, "claim image", func(row scanner) (image dedup.Sighting, err error) {
		var value []byte
		err = row.Scan(decoded(&image, decodeSighting), &value)
		image.Value = value
		return image, err
	}, `
		UPDATE images SET restored_by = ? WHERE operation = ? AND item = ? AND (restored_by IS NULL OR restored_by = ?)
		RETURNING body, value`, restore, operation, item, interrupted)
	if err == nil && !there {
		err = marker.ErrNoImage
	}
	return image, err
}

// Release gives a claimed image back.
func (o *Operations) Release(ctx context.Context, operation string, item int, restore string) error {
	return exec(ctx, o.write, "release image",
		do("UPDATE images SET restored_by = NULL WHERE operation = ? AND item = ? AND restored_by = ?", operation, item, restore))
}

// Images returns what is kept of an operation by item, without the values.
func (o *Operations) Images(ctx context.Context, operation string) (map[int]marker.KeptImage, error) {
	images := map[int]marker.KeptImage{}
	err := each(ctx, o.read, "read images", func(row scanner) error {
		var item int
		var k marker.KeptImage
		err := row.Scan(&item, millis(&k.Until), &k.RestoredBy, &k.Size, &k.Hash, decoded(&k.Seen, decodeSighting))
		images[item] = k
		return err
	}, "SELECT item, kept_until, coalesce(restored_by, ''), size, hash, body FROM images WHERE operation = ?", operation)
	if err != nil {
		return nil, err
	}
	return images, nil
}

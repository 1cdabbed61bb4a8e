package schemes

import (
	"context"
	"errors"
	"fmt"
)

// D3 keeps a row of consumed_messages for each message: PROCESSING, then SUCCESS or FAILED. A failed message becomes a dead
// letter, and whatever has a row is acked: so is that dead letter when it is sent again.
type D3 struct {
	Table
	Work Work
	// DeleteFailed makes a failure delete its row and return its message, as some consumers of this scheme do.
	DeleteFailed bool
}

// Handle inserts PROCESSING, works, and updates, each in a transaction of its own.
func (c D3) Handle(ctx context.Context, id string) (Settlement, bool, error) {
	err := c.exec(ctx, c.DB, "INSERT INTO consumed_messages (message_id, biz_id, status, create_time) VALUES (?, ?, 'PROCESSING', CURRENT_TIMESTAMP)", id, "order:"+id)
	if isDuplicate(err) {
		return Acked, false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("insert %s: %w", id, err)
	}
	settled, status := Acked, "SUCCESS"
	switch err := c.Work(ctx, id); {
	case errors.Is(err, ErrDied):
		return "", true, err
	case err != nil && c.DeleteFailed:
		return Requeued, true, c.exec(ctx, c.DB, "DELETE FROM consumed_messages WHERE message_id = ?", id)
	case err != nil:
		settled, status = Rejected, "FAILED"
	}
	return settled, true, c.exec(ctx, c.DB, "UPDATE consumed_messages SET status = ? WHERE message_id = ?", status, id)
}

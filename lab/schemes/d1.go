package schemes

import (
	"context"
	"errors"
	"fmt"
)

// D1 keeps a row of message_dedup for each message: status 0 while the work is under way, 1 when it was done, 2 when it failed.
// Whatever has a row is acked.
type D1 struct {
	Table
	Work Work
}

// Handle inserts status 0, works, and updates to 1 or 2, each in a transaction of its own.
func (c D1) Handle(ctx context.Context, id string) (Settlement, bool, error) {
	err := c.exec(ctx, c.DB, "INSERT INTO message_dedup (message_id, business_key, status) VALUES (?, ?, 0)", id, "order:"+id)
	if isDuplicate(err) {
		// Done, failed and under way are all answered from the row.
		return Acked, false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("insert %s: %w", id, err)
	}
	status := 1
	switch err := c.Work(ctx, id); {
	case errors.Is(err, ErrDied):
		return "", true, err
	case err != nil:
		status = 2
	}
	return Acked, true, c.exec(ctx, c.DB, "UPDATE message_dedup SET status = ? WHERE message_id = ?", status, id)
}

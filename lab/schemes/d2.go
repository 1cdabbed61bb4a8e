package schemes

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// D2 keeps a row of message_process_log for each message and writes it in one transaction with the work: a failure leaves no
// row. Whatever has a row is acked, also one whose expire_time has passed.
type D2 struct {
	Table
	Work Work
}

// Handle inserts status 0, works, updates to 1, and commits; a failure rolls all of it back.
func (c D2) Handle(ctx context.Context, id string) (Settlement, bool, error) {
	tx, err := c.DB.BeginTx(ctx, nil)
	if err != nil {
		return "", false, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback()
	err = c.exec(ctx, tx, "INSERT INTO message_process_log (message_id, business_key, process_status, expire_time) VALUES (?, ?, 0, ?)",
		id, "order:"+id, time.Now().UTC().Add(24*time.Hour))
	if isDuplicate(err) {
		return Acked, false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("insert %s: %w", id, err)
	}
	switch err := c.Work(ctx, id); {
	case errors.Is(err, ErrDied):
		return "", true, err
	case err != nil:
		return Requeued, true, nil
	}
	if err := c.exec(ctx, tx, "UPDATE message_process_log SET process_status = 1 WHERE message_id = ?", id); err != nil {
		return "", true, fmt.Errorf("complete %s: %w", id, err)
	}
	return Acked, true, tx.Commit()
}

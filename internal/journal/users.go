package journal

import (
	"context"
	"fmt"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

const userColumns = "shown_name, role, password_hash"

// User returns the user of this canonical name, and false if there is none.
func (db *DB) User(ctx context.Context, name string) (auth.User, bool, error) {
	return one(ctx, db.main, "read user", scanUser, "SELECT "+userColumns+" FROM users WHERE name = ?", name)
}

// Users returns every user of the journal by name.
func (db *DB) Users(ctx context.Context) ([]auth.User, error) {
	return list(ctx, db.main, "read users", scanUser, "SELECT "+userColumns+" FROM users ORDER BY name")
}

func scanUser(row scanner) (auth.User, error) {
	var u auth.User
	var role string
	err := row.Scan(&u.Name, &role, &u.PasswordHash)
	// A role that is not known stays Nobody: it may do nothing.
	u.Role, _ = auth.ParseRole(role)
	return u, err
}

// CreateFirstAdmin adds the first admin. It fails with kind conflict if there is an admin, or a user of that name; of two
// calls that race one fails.
func (db *DB) CreateFirstAdmin(ctx context.Context, u auth.User) error {
	n, err := rowsChanged(ctx, db.main, `
		INSERT INTO users (name, shown_name, role, password_hash, created_at)
		SELECT ?, ?, 'admin', ?, ? WHERE NOT EXISTS (SELECT 1 FROM users WHERE role = 'admin')`,
		auth.CanonicalName(u.Name), u.Name, u.PasswordHash, time.Now().Unix())
	if isConstraint(err) {
		return &dedup.Error{Kind: dedup.Conflict, Public: "There is a user of that name already", Err: err}
	}
	if err != nil {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "The account could not be stored; look at the program's log", Err: fmt.Errorf("create first admin: %w", err)}
	}
	if n != 1 {
		return &dedup.Error{Kind: dedup.Conflict, Public: "There is an admin already"}
	}
	return nil
}

// SetPassword gives a user another password, unless it was changed since it was read.
func (db *DB) SetPassword(ctx context.Context, name string, change admin.PasswordChange) error {
	n, err := rowsChanged(ctx, db.main, "UPDATE users SET password_hash = ? WHERE name = ? AND password_hash = ?", change.Now, auth.CanonicalName(name), change.Was)
	if err != nil {
		return &dedup.Error{Kind: dedup.Unavailable, Public: "The password could not be stored; look at the program's log", Err: fmt.Errorf("set password: %w", err)}
	}
	if n != 1 {
		return &dedup.Error{Kind: dedup.Conflict, Public: "The account was changed meanwhile; sign in again"}
	}
	return nil
}

package admin

import (
	"context"
	"fmt"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// accounts creates and changes users. CreateFirstAdmin fails with kind conflict if there is an admin already, or a user of that name,
// also when two calls race. SetPassword fails with kind conflict if the account is gone, or its password was changed since it was read.
type accounts interface {
	CreateFirstAdmin(ctx context.Context, u auth.User) error
	SetPassword(ctx context.Context, name string, change PasswordChange) error
}

// CreateFirstAdmin makes the first admin, on behalf of whoever holds the one-time link.
func (g *Gate) CreateFirstAdmin(ctx context.Context, who Caller, u auth.User) error {
	if !auth.ValidName(u.Name) {
		return Invalid("A name has 1 to 64 letters, digits or . _ - @, and begins with a letter or digit")
	}
	if u.Role != auth.Admin || u.PasswordHash == "" {
		return &dedup.Error{Kind: dedup.Internal, Public: "Internal error", Err: fmt.Errorf("first admin %q without role or password", u.Name)}
	}
	return g.Do(ctx, who, Action{
		Name: actFirstAdmin, Target: u.Name, Needs: auth.Admin,
		Run: func(ctx context.Context) (string, error) {
			return "role admin", g.users.CreateFirstAdmin(ctx, u)
		},
	})
}

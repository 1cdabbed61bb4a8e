package admin

import (
	"context"
	"fmt"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// A PasswordChange gives an account of the journal another password. Was and Now are hashes.
type PasswordChange struct{ Was, Now string }

// ChangePassword changes the password of whoever asks. Who asks has proved the old one.
func (g *Gate) ChangePassword(ctx context.Context, who Caller, change PasswordChange) error {
	if change.Was == "" || change.Now == "" {
		return &dedup.Error{Kind: dedup.Internal, Public: "Internal error", Err: fmt.Errorf("change the password of %q without the old or the new one", who.Name)}
	}
	act := passwordAction(who)
	act.Run = func(ctx context.Context) (string, error) {
		ctx, cancel := Writing(ctx)
		defer cancel()
		return "every other session of the account ends", g.users.SetPassword(ctx, who.Name, change)
	}
	return g.Do(ctx, who, act)
}

// PasswordRefused records why a password was not changed. What was typed is never recorded.
func (g *Gate) PasswordRefused(ctx context.Context, who Caller, why string) {
	_ = g.Refuse(ctx, who, passwordAction(who), Forbidden(why)) // the page says it in its own words
}

func passwordAction(who Caller) Action {
	return Action{Name: actPassword, Target: Printable(who.Name, MaxTarget), Needs: auth.Viewer}
}

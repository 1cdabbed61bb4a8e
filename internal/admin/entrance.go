package admin

import (
	"context"
	"time"

	"dedup-dashboard/internal/auth"
)

// What happens at the door: who came in, and who was turned away. It has happened by the time it is recorded, so an audit that takes
// no entry keeps nobody out: people must be able to see at night why it does not. That is logged, and the alert audit_refused fires.

// SignedIn records that somebody signed in.
func (g *Gate) SignedIn(ctx context.Context, who Caller) {
	g.noteAt(ctx, g.signIns, NewEntry(who, Action{Name: actSignIn, Target: who.Name}), Succeeded)
}

// SignedOutEverywhere records that somebody ended all sessions of their account.
func (g *Gate) SignedOutEverywhere(ctx context.Context, who Caller) {
	g.noteAt(ctx, g.signIns, NewEntry(who, Action{Name: actSignOutAll, Target: who.Name}), Succeeded)
}

// SignInFailed records that somebody did not get in. The account is the one that was tried, empty if it is not known or there is none of that
// name: what was typed instead is never recorded, it may be a password.
func (g *Gate) SignInFailed(ctx context.Context, from, account, why string) {
	e := NewEntry(Caller{From: from}, Action{Name: actSignIn, Target: Printable(account, MaxTarget)})
	e.Detail = why
	g.noteAt(ctx, g.strangers, e, Denied)
}

// RequestRefused records a request that was refused before it became an action. The target is its method and address.
func (g *Gate) RequestRefused(ctx context.Context, who Caller, target, why string) {
	list := g.strangers
	if who.Role != auth.Nobody {
		list = g.lacking
	}
	e := NewEntry(who, Action{Name: actRefusedRequest, Target: Printable(target, MaxTarget)})
	e.Detail = why
	g.noteAt(ctx, list, e, Denied)
}

func (g *Gate) noteAt(ctx context.Context, list *repeats, e Entry, phase string) {
	if err := list.note(ctx, e, phase); err != nil {
		g.log.Error("it could not be recorded who came or was turned away", "action", e.Action, "phase", phase, "who", e.Who, "from", e.From, "err", err)
	}
}

// Run writes the sums of what repeats when they are due, and all that is left when the context ends.
func (g *Gate) Run(ctx context.Context) {
	ticker := time.NewTicker(sumTick)
	defer ticker.Stop()
	for {
		ended := false
		select {
		case <-ticker.C:
		case <-ctx.Done():
			ended = true
		}
		for _, list := range []*repeats{g.strangers, g.lacking, g.refusals, g.signIns} {
			list.sum(ctx, time.Now(), ended)
		}
		if ended {
			return
		}
	}
}

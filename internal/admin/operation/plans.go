// Package operation is what every plan has in common, of changes to markers or of moves of messages: how it is kept, reviewed by whoever carries
// it out, claimed, audited, and tidied up after. How the items are carried out is for those who call it.
package operation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dedup-dashboard/internal/admin"
)

// A Start asks to carry out a plan.
type Start struct {
	PlanID string
	// Reason is why, for the audit: 3 to 500 characters.
	Reason string
	// Confirm is what was typed where the plan asks for it.
	Confirm string
	// Token makes a repeated request harmless: the same token of the same person with the same plan returns what it started, with another plan
	// it is a conflict. Empty for none; a plan is never carried out twice either way.
	Token string
}

// A Journal keeps plans of one kind. Errors are plain: Plans puts them in words.
type Journal[P any] interface {
	// SavePlan keeps a plan.
	SavePlan(ctx context.Context, p P) error
	// Plan returns a plan, the ID of what claimed it or "", and whether there is such a plan.
	Plan(ctx context.Context, id string) (p P, holder string, ok bool, err error)
	// ByToken returns the plan that this person started with the token, or "".
	ByToken(ctx context.Context, by, token string) (plan string, err error)
}

// Plans keeps plans of one kind and reviews them. It is safe for concurrent use; its errors are *dedup.Error.
type Plans[P any] struct {
	Gate    *admin.Gate
	Journal Journal[P]
	Now     func() time.Time
	// Terms are when a plan was made, and what must be typed to carry it out; empty when a reason is enough.
	Terms func(P) (made time.Time, confirm string)
}

// Keep keeps a plan that was made, and audits that. Without either it cannot be carried out.
func (k Plans[P]) Keep(ctx context.Context, p P, e admin.Entry) error {
	if err := k.Journal.SavePlan(ctx, p); err != nil {
		return admin.JournalError("The plan cannot be kept, so nothing can be carried out", err)
	}
	if err := k.Gate.Record(ctx, e, admin.Planned); err != nil {
		return admin.JournalError("The plan cannot be audited, so nothing can be carried out", err)
	}
	return nil
}

// Planned returns a plan again, and the ID of what carries it out or "". A plan that is over is of kind not found.
func (k Plans[P]) Planned(ctx context.Context, id string) (P, string, error) {
	p, holder, ok, err := k.Journal.Plan(ctx, id)
	switch {
	case err != nil:
		err = admin.JournalError("The plan cannot be read", err)
	case !ok || holder == "" && k.over(p):
		err = admin.NotFound("There is no such plan, or it is over: a plan can be carried out for " + admin.Span(admin.PlanLife))
	default:
		return p, holder, nil
	}
	var none P
	return none, "", err
}

func (k Plans[P]) over(p P) bool {
	made, _ := k.Terms(p)
	return k.Now().Sub(made) > admin.PlanLife
}

// Review checks who asks to carry out which plan, before anything is read that the plan is about. It returns the plan, and the ID of what has
// it already or "". It puts the reason into the action.
func (k Plans[P]) Review(ctx context.Context, who admin.Caller, req Start, act *admin.Action) (p P, holder string, err error) {
	if err := admin.Lacks(who, act.Needs); err != nil {
		return p, "", err
	}
	if act.Reason, err = admin.CheckReason(req.Reason); err != nil {
		return p, "", err
	}
	if len(req.Token) > admin.MaxToken {
		return p, "", admin.Invalid(fmt.Sprintf("An idempotency token has at most %d bytes", admin.MaxToken))
	}
	p, holder, ok, err := k.Journal.Plan(ctx, req.PlanID)
	if err != nil {
		return p, "", admin.JournalError("Nothing was done, because the plan cannot be read", err)
	}
	if err := k.checkToken(ctx, who, req); err != nil {
		return p, "", err
	}
	if holder == "" && !ok {
		err = admin.NotFound("There is no such plan; make a new one")
	}
	return p, holder, err
}

// checkToken refuses a token that has started another plan: the caller believes to repeat a request, and this is another.
func (k Plans[P]) checkToken(ctx context.Context, who admin.Caller, req Start) error {
	if req.Token == "" {
		return nil
	}
	plan, err := k.Journal.ByToken(ctx, who.Name, req.Token)
	switch {
	case err != nil:
		return admin.JournalError("Nothing was done, because the journal cannot be read", err)
	case plan != "" && plan != req.PlanID:
		return admin.TokenUsed(nil)
	}
	return nil
}

// InForce checks a plan right before it is carried out: it must not be over, and what it asks for must have been typed.
func (k Plans[P]) InForce(p P, typed string) error {
	_, confirm := k.Terms(p)
	switch {
	case k.over(p):
		return admin.Conflict("The plan is older than %s; make a new one", admin.Span(admin.PlanLife))
	case confirm != "" && strings.TrimSpace(typed) != confirm:
		return admin.Invalid("Type " + confirm + " to confirm")
	}
	return nil
}

package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

// recorder is an audit in memory that fails at one entry.
type recorder struct {
	mu      sync.Mutex
	entries []Entry
	failAt  int // 1 for the first entry; 0 for none
}

func (r *recorder) Record(_ context.Context, e Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.entries)+1 == r.failAt {
		r.failAt = 0
		return errors.New("disk full")
	}
	r.entries = append(r.entries, e)
	return nil
}

func (r *recorder) phases() []string {
	var all []string
	for _, e := range r.entries {
		all = append(all, e.Phase)
	}
	return all
}

// house holds the accounts that were made.
type house struct {
	made []auth.User
	err  error
	// before is called before an account is made.
	before func(context.Context)
}

func (h *house) CreateFirstAdmin(ctx context.Context, u auth.User) error {
	if h.before != nil {
		h.before(ctx)
	}
	if h.err == nil {
		h.made = append(h.made, u)
	}
	return h.err
}

func (h *house) SetPassword(context.Context, string, PasswordChange) error { return h.err }

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

var (
	linkHolder = Caller{Principal: auth.Principal{Name: "one-time link", Role: auth.Admin, Method: "link"}, From: "192.0.2.1"}
	root       = auth.User{Name: "root", Role: auth.Admin, PasswordHash: "$argon2id$secret-hash"}
)

func TestGateRecordsTheIntentBeforeAndTheOutcomeAfter(t *testing.T) {
	audit := &recorder{}
	users := &house{before: func(context.Context) {
		if !slices.Equal(audit.phases(), []string{Intent}) {
			t.Errorf("acts after %v", audit.phases())
		}
	}}
	if err := NewGate(audit, users, quiet()).CreateFirstAdmin(t.Context(), linkHolder, root); err != nil {
		t.Fatal(err)
	}
	if len(users.made) != 1 || !slices.Equal(audit.phases(), []string{Intent, Succeeded}) {
		t.Errorf("made %v, audit %v", users.made, audit.phases())
	}
	intent, outcome := audit.entries[0], audit.entries[1]
	if intent.Operation == "" || intent.Operation != outcome.Operation || intent.Who != "one-time link" || intent.From != "192.0.2.1" ||
		intent.Action != "create_first_admin" || intent.Target != "root" || intent.At.IsZero() {
		t.Errorf("%+v, %+v", intent, outcome)
	}
}

func TestGateDoesNothingWithoutAnAudit(t *testing.T) {
	users := &house{}
	err := NewGate(&recorder{failAt: 1}, users, quiet()).CreateFirstAdmin(t.Context(), linkHolder, root)
	if dedup.KindOf(err) != dedup.Unavailable || len(users.made) != 0 {
		t.Errorf("%v, made %v", err, users.made)
	}
}

func TestGateRefusesAndRecordsWhoMayNot(t *testing.T) {
	for _, role := range []auth.Role{auth.Nobody, auth.Viewer, auth.Operator} {
		audit, users := &recorder{}, &house{}
		err := NewGate(audit, users, quiet()).CreateFirstAdmin(t.Context(), Caller{Principal: auth.Principal{Name: "eve", Role: role}}, root)
		if dedup.KindOf(err) != dedup.Forbidden || len(users.made) != 0 || !slices.Equal(audit.phases(), []string{Denied}) {
			t.Errorf("%s: %v, made %v, audit %v", role, err, users.made, audit.phases())
		}
	}
}

func TestGateRecordsFailuresWithTheirPublicTextOnly(t *testing.T) {
	audit := &recorder{}
	users := &house{err: &dedup.Error{Kind: dedup.Conflict, Public: "There is an admin already", Err: errors.New("internal detail")}}
	err := NewGate(audit, users, quiet()).CreateFirstAdmin(t.Context(), linkHolder, root)
	if dedup.KindOf(err) != dedup.Conflict || !slices.Equal(audit.phases(), []string{Intent, Failed}) || audit.entries[1].Detail != "There is an admin already" {
		t.Errorf("%v, audit %+v", err, audit.entries)
	}
}

func TestAnActionThatHappenedIsNoFailureWhenItsOutcomeCannotBeRecorded(t *testing.T) {
	audit, users := &recorder{failAt: 2}, &house{}
	if err := NewGate(audit, users, quiet()).CreateFirstAdmin(t.Context(), linkHolder, root); err != nil || len(users.made) != 1 {
		t.Errorf("%v, made %v", err, users.made)
	}
}

func TestTheOutcomeIsRecordedThoughTheCallerHasGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	audit := &contextAudit{}
	users := &house{before: func(context.Context) { cancel() }}
	if err := NewGate(audit, users, quiet()).CreateFirstAdmin(ctx, linkHolder, root); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(audit.phases(), []string{Intent, Succeeded}) {
		t.Errorf("audit %v", audit.phases())
	}
}

func TestACallerWhoHasGoneIsRecordedAllTheSameAndSaysNothingOfTheAudit(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	audit := &contextAudit{}
	gate := NewGate(audit, &house{}, quiet())
	viewer := Caller{Principal: auth.Principal{Name: "eve", Role: auth.Viewer}}
	if err := gate.CreateFirstAdmin(gone, viewer, root); dedup.KindOf(err) != dedup.Forbidden {
		t.Errorf("of a viewer: %v", err)
	}
	if err := gate.CreateFirstAdmin(gone, linkHolder, root); err != nil {
		t.Errorf("of who may: %v", err)
	}
	if !slices.Equal(audit.phases(), []string{Denied, Intent, Succeeded}) || gate.Refused() != "" {
		t.Errorf("audit %v, refused %q", audit.phases(), gate.Refused())
	}
}

// brokenOff is an audit in which each entry is broken off, or fails as it says.
type brokenOff struct{ err error }

func (b *brokenOff) Record(context.Context, Entry) error { return b.err }

func TestOnlyAnAuditThatRefusesIsSaidToRefuse(t *testing.T) {
	audit := &brokenOff{fmt.Errorf("write audit: %w", context.Canceled)}
	gate := NewGate(audit, &house{}, quiet())
	_ = gate.Record(t.Context(), Entry{}, Intent)
	if why := gate.Refused(); why != "" {
		t.Errorf("after an entry that was broken off: %q", why)
	}
	audit.err = &dedup.Error{Kind: dedup.Unavailable, Public: "the disk is full"}
	_ = gate.Record(t.Context(), Entry{}, Intent)
	audit.err = context.Canceled
	_ = gate.Record(t.Context(), Entry{}, Intent)
	if why := gate.Refused(); why != "the disk is full" {
		t.Errorf("after one that was refused and one that was broken off: %q", why)
	}
	audit.err = nil
	_ = gate.Record(t.Context(), Entry{}, Intent)
	if why := gate.Refused(); why != "" {
		t.Errorf("after one that was taken: %q", why)
	}
}

// contextAudit refuses what comes with a context that has ended, as a database does.
type contextAudit struct{ recorder }

func (c *contextAudit) Record(ctx context.Context, e Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.recorder.Record(ctx, e)
}

func TestFirstAdminNeedsANameARoleAndAPassword(t *testing.T) {
	for name, u := range map[string]auth.User{
		"no name":      {Role: auth.Admin, PasswordHash: "h"},
		"hostile name": {Name: "<script>", Role: auth.Admin, PasswordHash: "h"},
		"no role":      {Name: "root", PasswordHash: "h"},
		"no password":  {Name: "root", Role: auth.Admin},
	} {
		audit, users := &recorder{}, &house{}
		if err := NewGate(audit, users, quiet()).CreateFirstAdmin(t.Context(), linkHolder, u); err == nil || len(users.made) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAPasswordIsChangedThroughTheGate(t *testing.T) {
	member := Caller{Principal: auth.Principal{Name: "vera", Role: auth.Viewer, Method: "session"}}
	gone := &dedup.Error{Kind: dedup.Conflict, Public: "The account was changed meanwhile"}
	for name, c := range map[string]struct {
		audit  *recorder
		users  *house
		change PasswordChange
		kind   dedup.Kind
		phases []string
	}{
		"it succeeds":                {&recorder{}, &house{}, PasswordChange{"a", "b"}, "", []string{Intent, Succeeded}},
		"it was changed meanwhile":   {&recorder{}, &house{err: gone}, PasswordChange{"a", "b"}, dedup.Conflict, []string{Intent, Failed}},
		"the audit takes no entry":   {&recorder{failAt: 1}, &house{err: errors.New("must not be called")}, PasswordChange{"a", "b"}, dedup.Unavailable, nil},
		"the old one was not proved": {&recorder{}, &house{}, PasswordChange{"", "b"}, dedup.Internal, nil},
		"there is no new one":        {&recorder{}, &house{}, PasswordChange{"a", ""}, dedup.Internal, nil},
	} {
		err := NewGate(c.audit, c.users, quiet()).ChangePassword(t.Context(), member, c.change)
		if (err != nil) != (c.kind != "") || err != nil && dedup.KindOf(err) != c.kind || !slices.Equal(c.audit.phases(), c.phases) {
			t.Errorf("%s: %v, audit %v", name, err, c.audit.phases())
		}
	}
}

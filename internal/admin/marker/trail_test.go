package marker_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/journal"
)

// doubtful is an audit whose chain is checked with a given result.
type doubtful struct {
	*journal.Audit
	err error
}

func (a doubtful) Check(context.Context) (admin.AuditState, error) {
	return admin.AuditState{Entries: 3}, a.err
}

func TestOnlyAnAuditThatWasChangedIsSaidToBeBroken(t *testing.T) {
	cases := []struct {
		name   string
		err    error
		broken string
		kind   dedup.Kind
	}{
		{"an entry does not fit", fmt.Errorf("%w: entry 3 was changed", admin.ErrBroken), "the audit was changed: entry 3 was changed", ""},
		{"the page was closed", fmt.Errorf("read audit: %w", context.Canceled), "", dedup.Unavailable},
		{"the disk fails", fmt.Errorf("read audit: %w", syscall.EIO), "", dedup.Unavailable},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, func(deps *marker.Deps, db *journal.DB) { deps.Trail = doubtful{db.Audit(), c.err} })
			state, err := d.VerifyAudit(t.Context(), operator)
			if state.Broken != c.broken || c.kind == "" && err != nil || c.kind != "" && dedup.KindOf(err) != c.kind {
				t.Errorf("%+v, %v", state, err)
			}
			if err != nil && !strings.Contains(dedup.PublicText(err), "could not be read to its end") {
				t.Error(dedup.PublicText(err))
			}
		})
	}
}

// Package mark lets operators and their deployments say what happened when.
package mark

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
)

const (
	maxMarkText = 200
	// markAhead is how far ahead of ours the clock of whoever posts a mark may be; markBack is how old a mark may be.
	markAhead = time.Minute
	markBack  = 30 * 24 * time.Hour
	// MarksListed is how many marks a list has at most.
	MarksListed = 200
)

// markJournal keeps marks. Writes are on disk when they return; it is safe for concurrent use.
type markJournal interface {
	AddMark(ctx context.Context, mark dedup.Mark) error
	MarksSince(ctx context.Context, from time.Time, limit int) ([]dedup.Mark, error)
}

// snapshots gives what is known now; Snapshot never returns nil.
type snapshots interface{ Snapshot() *dedup.Snapshot }

// Deps are what Marks needs. Refresh, which may be nil, asks for a new snapshot and waits a moment for one that meets the
// condition.
type Deps struct {
	Gate      *admin.Gate
	Journal   markJournal
	Snapshots snapshots
	Refresh   func(ctx context.Context, until func(*dedup.Snapshot) bool)
	ReadOnly  bool
	Now       func() time.Time
}

// Marks lets operators and their deployments say what happened when. It is safe for concurrent use; its errors are *dedup.Error.
type Marks struct{ deps Deps }

// New returns the service.
func New(deps Deps) *Marks {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Refresh == nil {
		deps.Refresh = func(context.Context, func(*dedup.Snapshot) bool) {}
	}
	return &Marks{deps}
}

// Add keeps a mark, in one line. Without a time it is of now, without a pipeline of all.
func (m *Marks) Add(ctx context.Context, who admin.Caller, mark dedup.Mark) (dedup.Mark, error) {
	a := admin.Action{Name: admin.ActMark, Target: admin.Printable(mark.Pipeline, admin.MaxTarget), Needs: auth.Operator}
	if a.Target == "" {
		a.Target = "all pipelines"
	}
	if err := m.deps.Gate.AllowChange(ctx, who, a, m.deps.ReadOnly); err != nil {
		return dedup.Mark{}, err
	}
	mark, err := m.check(mark)
	if err != nil {
		return dedup.Mark{}, err
	}
	mark.By = who.Name
	a.Reason = mark.Text
	a.Run = func(ctx context.Context) (string, error) {
		return "marked at " + admin.Stamp(mark.At), m.deps.Journal.AddMark(ctx, mark)
	}
	if err := m.deps.Gate.Write(ctx, who, a); err != nil {
		return dedup.Mark{}, err
	}
	m.deps.Refresh(ctx, func(s *dedup.Snapshot) bool { return shows(s, mark) })
	return mark, nil
}

// shows reports whether a snapshot has the event of a mark, or no pipeline that could have it.
func shows(s *dedup.Snapshot, mark dedup.Mark) bool {
	for _, p := range s.Pipelines {
		if mark.Pipeline != "" && p.Pipeline.Name != mark.Pipeline {
			continue
		}
		for _, e := range p.Events {
			if e.Kind == dedup.EventMark && e.At.Equal(mark.At) {
				return true
			}
		}
		return false
	}
	return true
}

// check completes a mark, or says what is wrong with it.
func (m *Marks) check(mark dedup.Mark) (dedup.Mark, error) {
	now := m.deps.Now()
	mark.Made = now.UTC().Truncate(time.Millisecond)
	mark.Text = strings.TrimSpace(mark.Text)
	if mark.At.IsZero() {
		mark.At = mark.Made
	}
	mark.At = mark.At.UTC().Truncate(time.Millisecond)
	hidden := func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control) || r == '\u2028' || r == '\u2029'
	}
	switch n := utf8.RuneCountInString(mark.Text); {
	case n < 1 || n > maxMarkText:
		return mark, admin.Invalid(fmt.Sprintf("Give a text of 1 to %d characters", maxMarkText))
	case !utf8.ValidString(mark.Text) || strings.IndexFunc(mark.Text, hidden) >= 0:
		return mark, admin.Invalid("Give the text in one line, without control characters")
	case mark.At.After(now.Add(markAhead)):
		return mark, admin.Invalid("The time of a mark must not be in the future; see that the clock of whoever posts it is right")
	case mark.At.Before(now.Add(-markBack)):
		return mark, admin.Invalid("The time of a mark must not be more than 30 days ago")
	}
	if mark.At.After(mark.Made) {
		mark.At = mark.Made
	}
	if mark.Pipeline != "" {
		if _, ok := m.deps.Snapshots.Snapshot().Pipeline(mark.Pipeline); !ok {
			return mark, admin.NotFound("There is no pipeline " + admin.Printable(mark.Pipeline, 80))
		}
	}
	return mark, nil
}

// List returns the newest marks, oldest first. Everybody who may see figures may see them.
func (m *Marks) List(ctx context.Context) ([]dedup.Mark, error) {
	all, err := m.deps.Journal.MarksSince(ctx, m.deps.Now().Add(-markBack), MarksListed)
	if err != nil {
		return nil, &dedup.Error{Kind: dedup.Unavailable, Public: "The marks cannot be read from the journal", Err: err}
	}
	return all, nil
}

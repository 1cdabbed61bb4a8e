package baseline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// A board is a journal of baselines, and a snapshot, in memory.
type board struct {
	kept map[string]dedup.Baseline
	err  error
	snap dedup.Snapshot
}

func (b *board) Snapshot() *dedup.Snapshot { return &b.snap }

func (b *board) SetBaseline(_ context.Context, pipeline string, line dedup.Baseline) error {
	if b.err == nil {
		b.kept[pipeline] = line
	}
	return b.err
}

func (b *board) RemoveBaseline(_ context.Context, pipeline string) (dedup.Baseline, bool, error) {
	line, ok := b.kept[pipeline]
	if b.err == nil {
		delete(b.kept, pipeline)
	}
	return line, ok, b.err
}

const known = "of last week, OPS-412"

// newBoard has one pipeline with dead letters; a negative number is not known.
func newBoard(depth float64) *board {
	figure := dedup.Unknown(dedup.Count, "broker main cannot be read")
	if depth >= 0 {
		figure = dedup.Exact(dedup.Measured, dedup.Count, depth, time.Now(), "depths")
	}
	return &board{kept: map[string]dedup.Baseline{}, snap: dedup.Snapshot{Round: 1, Pipelines: []dedup.PipelineStatus{
		{Pipeline: dedup.Pipeline{Name: "orders"}, DeadLetters: figure}}}}
}

func (b *board) service(audit *admintest.Recorder, readOnly bool) *Baselines {
	return New(Deps{Gate: audit.Gate(), Journal: b, Snapshots: b, ReadOnly: readOnly})
}

func TestDeadLettersAreAcknowledgedAndForgottenInTheAudit(t *testing.T) {
	b, audit := newBoard(12), &admintest.Recorder{}
	service := b.service(audit, false)
	line, err := service.Acknowledge(t.Context(), admintest.Caller("ann", auth.Operator), "orders", SeenDeadLetters{12, -1}, "  "+known)
	if err != nil || line.Count != 12 || line.Acknowledged != 12 || line.By != "ann" || line.Reason != known || b.kept["orders"] != line {
		t.Fatalf("%+v, %v; kept %+v", line, err, b.kept)
	}
	if err := service.Forget(t.Context(), admintest.Caller("bob", auth.Operator), "orders", "not known after all"); err != nil || len(b.kept) != 0 {
		t.Fatalf("%v; kept %+v", err, b.kept)
	}
	if !slices.Equal(audit.Phases(), []string{admin.Intent, admin.Succeeded, admin.Intent, admin.Succeeded}) {
		t.Fatalf("audit %v", audit.Phases())
	}
	made, taken := audit.Entries[1], audit.Entries[3]
	if made.Action != "acknowledge_dead_letters" || made.Target != "orders" || made.Reason != known || made.Detail != "12 dead letters acknowledged" || made.Who != "ann" {
		t.Errorf("%+v", made)
	}
	if taken.Action != "forget_acknowledged_dead_letters" || !strings.Contains(taken.Detail, "12 dead letters acknowledged by ann") || taken.Reason != "not known after all" {
		t.Errorf("%+v", taken)
	}
}

func TestWhatIsAcknowledgedIsNeverMoreThanWasSeenOrIsThere(t *testing.T) {
	for _, tt := range []struct {
		name             string
		depth            float64
		seen, want       int64
		kind             dedup.Kind
		reason, pipeline string
		role             auth.Role
		readOnly         bool
	}{
		{name: "three more arrived after the page was shown", depth: 15, seen: 12, want: 12},
		{name: "three have gone since", depth: 9, seen: 12, want: 9},
		{name: "none is there", depth: 0, seen: 12, kind: dedup.Invalid},
		{name: "none was seen", depth: 12, seen: 0, kind: dedup.Invalid},
		{name: "the depth is not known", depth: -1, seen: 12, kind: dedup.Unavailable},
		{name: "without a reason", depth: 12, seen: 12, reason: " ", kind: dedup.Invalid},
		{name: "of no pipeline", depth: 12, seen: 12, pipeline: "other", kind: dedup.NotFound},
		{name: "by a viewer", depth: 12, seen: 12, role: auth.Viewer, kind: dedup.Forbidden},
		{name: "by a viewer, of no pipeline", depth: 12, pipeline: "other", role: auth.Viewer, kind: dedup.Forbidden},
		{name: "read-only", depth: 12, seen: 12, readOnly: true, kind: dedup.Forbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, who := newBoard(tt.depth), admintest.Caller("ann", auth.Operator)
			if tt.role != auth.Nobody {
				who.Role = tt.role
			}
			reason, pipeline := known, "orders"
			if tt.reason != "" {
				reason = tt.reason
			}
			if tt.pipeline != "" {
				pipeline = tt.pipeline
			}
			line, err := b.service(&admintest.Recorder{}, tt.readOnly).Acknowledge(t.Context(), who, pipeline, SeenDeadLetters{tt.seen, -1}, reason)
			if tt.kind == "" {
				if err != nil || line.Count != tt.want || b.kept["orders"].Count != tt.want {
					t.Errorf("%+v, %v; want %d", line, err, tt.want)
				}
				return
			}
			if dedup.KindOf(err) != tt.kind || len(b.kept) != 0 {
				t.Errorf("%v with %+v kept; want kind %s and nothing", err, b.kept, tt.kind)
			}
		})
	}
}

func TestWhatIsAcknowledgedTellsTheOwnLettersFromTheSharedOnes(t *testing.T) {
	for _, tt := range []struct {
		name        string
		own, shared float64
		seen        SeenDeadLetters
		count, ours int64
		refused     bool
	}{
		{name: "all that are there", own: 5, shared: 10, seen: SeenDeadLetters{15, 5}, count: 15, ours: 5},
		{name: "three more came into the shared queue since", own: 5, shared: 13, seen: SeenDeadLetters{15, 5}, count: 15, ours: 5},
		{name: "three more of its own came since", own: 8, shared: 10, seen: SeenDeadLetters{15, 5}, count: 15, ours: 5},
		{name: "the shared queue was emptied since, and three more of its own came", own: 8, shared: 0, seen: SeenDeadLetters{15, 5}, count: 5, ours: 5},
		{name: "nobody said what was seen of its own, and nothing changed", own: 5, shared: 10, seen: SeenDeadLetters{15, -1}, count: 15, ours: 5},
		{name: "nobody said it, and three came since: its own, for all that is known", own: 5, shared: 13, seen: SeenDeadLetters{15, -1}, count: 15, ours: 2},
		{name: "more of its own than in all", own: 5, shared: 10, seen: SeenDeadLetters{4, 5}, refused: true},
		{name: "fewer than none in all", own: 5, shared: 10, seen: SeenDeadLetters{-4, -5}, refused: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBoard(tt.own)
			b.snap.Pipelines[0].DeadLetters.High += tt.shared
			line, err := b.service(&admintest.Recorder{}, false).Acknowledge(t.Context(), admintest.Caller("ann", auth.Operator), "orders", tt.seen, known)
			if tt.refused {
				if dedup.KindOf(err) != dedup.Invalid || len(b.kept) != 0 {
					t.Errorf("%v with %+v kept, want it refused", err, b.kept)
				}
				return
			}
			if err != nil || line.Count != tt.count || line.Own != tt.ours || !line.Split || b.kept["orders"] != line {
				t.Errorf("%+v, %v; want %d, of which %d are its own", line, err, tt.count, tt.ours)
			}
		})
	}
}

// TestWhatIsAcknowledgedIsNobodysOwnWhileSharingIsNotKnown: in the first seconds after a start, or while the topology cannot be read, all
// letters pass for those of the pipeline alone.
func TestWhatIsAcknowledgedIsNobodysOwnWhileSharingIsNotKnown(t *testing.T) {
	for name, seen := range map[string]SeenDeadLetters{
		"nobody said what was seen of its own": {15, -1}, "the page showed all as its own": {15, 15}, "the page showed before the restart that some were shared": {15, 5},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoard(15)
			p := &b.snap.Pipelines[0]
			p.SharingUnknown = true
			line, err := b.service(&admintest.Recorder{}, false).Acknowledge(t.Context(), admintest.Caller("ann", auth.Operator), "orders", seen, known)
			if err != nil || line.Count != 15 || line.Split || line.Own != 0 || b.kept["orders"] != line {
				t.Fatalf("%+v, %v; want 15, of nobody knows whom", line, err)
			}
			// The topology comes: 13 of them are in a shared queue.
			p.SharingUnknown, p.DeadLetters.Low = false, 2
			lowered := line.Lowered(2, 13)
			p.Baseline = &lowered
			if lowered.Count != 15 || p.FreshDeadLetters() != 0 {
				t.Errorf("then %d are acknowledged and %v new, want 15 and 0", lowered.Count, p.FreshDeadLetters())
			}
		})
	}
}

func TestNothingIsAcknowledgedWithoutAuditOrJournal(t *testing.T) {
	b := newBoard(12)
	if _, err := b.service(&admintest.Recorder{FailAt: 1}, false).Acknowledge(t.Context(), admintest.Caller("ann", auth.Operator), "orders", SeenDeadLetters{12, -1}, known); dedup.KindOf(err) != dedup.Unavailable || len(b.kept) != 0 {
		t.Errorf("without an audit: %v, %+v", err, b.kept)
	}
	audit := &admintest.Recorder{}
	b.err = errors.New("disk full")
	if _, err := b.service(audit, false).Acknowledge(t.Context(), admintest.Caller("ann", auth.Operator), "orders", SeenDeadLetters{12, -1}, known); dedup.KindOf(err) != dedup.Unavailable || !slices.Equal(audit.Phases(), []string{admin.Intent, admin.Failed}) {
		t.Errorf("without a journal: %v, audit %v", err, audit.Phases())
	}
	b.err = nil
	if err := b.service(audit, false).Forget(t.Context(), admintest.Caller("ann", auth.Operator), "orders", known); dedup.KindOf(err) != dedup.Conflict {
		t.Errorf("forgetting what nobody acknowledged: %v", err)
	}
}

func TestEveryRefusalWhereNothingMayBeChangedLeavesOneDeniedEntryWithItsReason(t *testing.T) {
	for action, ask := range map[string]func(*Baselines, admin.Caller) error{
		"acknowledge_dead_letters": func(b *Baselines, who admin.Caller) error {
			_, err := b.Acknowledge(t.Context(), who, "orders", SeenDeadLetters{}, known)
			return err
		},
		"forget_acknowledged_dead_letters": func(b *Baselines, who admin.Caller) error { return b.Forget(t.Context(), who, "orders", known) },
	} {
		t.Run(action, func(t *testing.T) {
			audit := &admintest.Recorder{}
			err := ask(New(Deps{Gate: audit.Gate(), ReadOnly: true}), admintest.Caller("rae", auth.Operator))
			admintest.Denied(t, action, err, audit.Entries)
		})
	}
}

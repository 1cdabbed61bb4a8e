package journal

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/alerting"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// listener is an engine that notes what it is told, and cannot read silences when deaf.
type listener struct {
	told    []string
	reloads int
	deaf    bool
}

func (l *listener) Acknowledge(_ context.Context, k rule.Key, by, note string, seen dedup.Tier, _ time.Time) error {
	l.told = append(l.told, k.String()+" by "+by+": "+note+", seen at "+seen.String())
	return nil
}

func (l *listener) Unacknowledge(_ context.Context, k rule.Key, by string) error {
	l.told = append(l.told, k.String()+" no longer by "+by)
	return nil
}

func (l *listener) ReloadSilences(context.Context) error {
	l.reloads++
	if l.deaf {
		return errors.New("deaf")
	}
	return nil
}

func TestAttentionReachesTheEngineAtOnce(t *testing.T) {
	records, engine := reopen(t, t.TempDir()), &listener{}
	attention := records.Attention(engine, slog.New(slog.DiscardHandler))
	ctx, now := t.Context(), time.Now().UTC().Truncate(time.Millisecond)
	for _, err := range []error{
		attention.Acknowledge(ctx, "stuck_markers/pipeline/orders", "ann", "mine", dedup.Severe, now.Add(time.Hour)),
		attention.Unacknowledge(ctx, "stuck_markers/pipeline/orders", "ann"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(engine.told) != 2 || engine.told[0] != "stuck_markers/pipeline/orders by ann: mine, seen at severe" || engine.told[1] != "stuck_markers/pipeline/orders no longer by ann" {
		t.Errorf("the engine was told %q", engine.told)
	}
	asked := alerting.NewSilence{Matchers: []alerting.SilenceMatcher{{Label: "pipeline", Op: "=", Value: "orders"}}, Author: "ann", Reason: "a test", Starts: now, Ends: now.Add(time.Hour)}
	engine.deaf = true // it reads them with its next evaluation
	id, err := attention.AddSilence(ctx, asked)
	if err != nil || id == "" || engine.reloads != 1 {
		t.Fatalf("silence %q, error %v, %d reloads", id, err, engine.reloads)
	}
	if err := attention.ExpireSilence(ctx, id, "bob"); err != nil || engine.reloads != 2 {
		t.Fatalf("error %v, %d reloads", err, engine.reloads)
	}
	kept, err := attention.Silences(ctx, now.Add(-time.Second))
	if err != nil || len(kept) != 1 || kept[0].Author != "ann" || kept[0].EndedBy != "bob" || kept[0].Matchers[0].String() != `pipeline="orders"` {
		t.Errorf("kept %+v, error %v", kept, err)
	}
}

func TestAttentionRefusesWhatIsNotThereOrNotValid(t *testing.T) {
	records, engine := reopen(t, t.TempDir()), &listener{}
	attention := records.Attention(engine, slog.New(slog.DiscardHandler))
	now := time.Now()
	_, invalid := attention.AddSilence(t.Context(), alerting.NewSilence{Author: "ann", Reason: "all", Starts: now, Ends: now.Add(time.Hour)})
	for name, tt := range map[string]struct {
		err  error
		want dedup.Kind
	}{
		"an alert that is no key":        {attention.Acknowledge(t.Context(), "orders", "ann", "", dedup.Severe, now.Add(time.Hour)), dedup.NotFound},
		"taking back of what is no key":  {attention.Unacknowledge(t.Context(), "a/b/c/d", "ann"), dedup.NotFound},
		"a silence without matchers":     {invalid, dedup.Invalid},
		"the end of a silence not there": {attention.ExpireSilence(t.Context(), "none", "ann"), dedup.NotFound},
	} {
		if dedup.KindOf(tt.err) != tt.want {
			t.Errorf("%s: %v", name, tt.err)
		}
	}
	if len(engine.told) != 0 || engine.reloads != 0 {
		t.Errorf("the engine heard of it: %q, %d reloads", engine.told, engine.reloads)
	}
}

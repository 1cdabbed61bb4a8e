package preflight_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
)

// cabinet is a finder over a map.
type cabinet struct {
	markers map[string]*dedup.Sighting
	err     error
	asked   [][]string
	short   bool
}

func (c *cabinet) Find(_ context.Context, ids []string) ([]*dedup.Sighting, error) {
	c.asked = append(c.asked, slices.Clone(ids))
	if c.err != nil {
		return nil, c.err
	}
	found := make([]*dedup.Sighting, len(ids))
	for i, id := range ids {
		found[i] = c.markers[id]
	}
	if c.short {
		return found[1:], nil
	}
	return found, nil
}

func preflighter(t *testing.T, c *cabinet) *preflight.Preflighter {
	t.Helper()
	p, err := preflight.New(
		[]dedup.Pipeline{{Name: "orders", Store: "shop", IDFrom: "message_id"}, {Name: "bare", IDFrom: "message_id"}, {Name: "keyed", Store: "shop", IDFrom: "header:x-key"}},
		[]preflight.Store{{Name: "shop", Scheme: textStatus(), Finder: c}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func deadLetter(id string, at time.Time, headers map[string]any) dedup.DeadLetter {
	return dedup.NewDeadLetter(dedup.QueueRef{Vhost: "/", Name: "dead"}, message.Message{Properties: message.Properties{MessageID: id, Timestamp: at, Headers: headers}})
}

func TestAPreflightJoinsLettersAndMarkers(t *testing.T) {
	busy := marked(dedup.Processing, time.Hour)
	busy.BusinessKey = "order:1"
	c := &cabinet{markers: map[string]*dedup.Sighting{"busy": busy, "done": marked(dedup.Done, time.Hour)}}
	letters := []dedup.DeadLetter{
		deadLetter("done", noon, nil), deadLetter("", noon, nil), deadLetter("busy", noon, nil), deadLetter("none", noon, nil), deadLetter("busy", noon, nil),
		deadLetter("old", noon.Add(-48*time.Hour), nil), deadLetter("dated by its death", time.Time{}, map[string]any{"x-death": []any{map[string]any{"queue": "q", "reason": "rejected", "count": int64(1), "time": noon}}}),
		deadLetter("made tomorrow", noon.Add(48*time.Hour), nil), deadLetter("none", noon, nil), deadLetter("", noon, nil),
	}
	got, err := preflighter(t, c).Preflight(t.Context(), "orders", letters, noon)
	if err != nil || got.StoreFailed != "" {
		t.Fatal(got, err)
	}
	want := []preflight.Class{preflight.ClassSkipped, preflight.ClassMayRunTwice, preflight.ClassBlocks, preflight.ClassRuns, preflight.ClassBlocks, preflight.ClassMayRunTwice, preflight.ClassRuns, preflight.ClassMayRunTwice,
		preflight.ClassUnknown, preflight.ClassMayRunTwice}
	for i, l := range got.Letters {
		if l.Class != want[i] {
			t.Errorf("%q: %s (%s), want %s", letters[i].MessageID, l.Class, l.Why(), want[i])
		}
	}
	if x := got.Letters[2]; x.BusinessKey != "order:1" || x.Marker != busy || x.ID != "busy" || x.Until.IsZero() {
		t.Errorf("%+v", x)
	}
	if x := got.Letters[8]; !strings.Contains(x.Why(), "same id") {
		t.Errorf("a copy: %+v", x)
	}
	if x := got.Letters[1]; x.ID != "" || x.NoID == "" || x.Marker != nil {
		t.Errorf("without an id: %+v", x)
	}
	if got.Classes[preflight.ClassBlocks] != 2 || got.Classes[preflight.ClassMayRunTwice] != 4 || got.Classes[preflight.ClassRuns] != 2 || len(got.Classes) != 5 {
		t.Errorf("tally %v", got.Classes)
	}
	if len(c.asked) != 1 || slices.Contains(c.asked[0], "") {
		t.Errorf("asked %v", c.asked)
	}
}

func TestBothSpellingsOfAUUIDAreOneMessage(t *testing.T) {
	const uuid = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
	got, err := preflighter(t, &cabinet{}).Preflight(t.Context(), "orders", []dedup.DeadLetter{deadLetter("urn:uuid:"+uuid, noon, nil), deadLetter(uuid, noon, nil)}, noon)
	if err != nil || got.Letters[0].Class != preflight.ClassRuns || got.Letters[0].ID != "urn:uuid:"+uuid || got.Letters[1].Class != preflight.ClassUnknown {
		t.Errorf("%+v, %v", got.Letters, err)
	}
}

func TestAStoreThatFailsMakesMessagesUnknown(t *testing.T) {
	for name, c := range map[string]*cabinet{
		"an answer in words": {err: &dedup.Error{Kind: dedup.Unavailable, Public: "Redis refused the connection"}},
		"a raw error":        {err: errors.New("secret detail")},
		"too few answers":    {short: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := preflighter(t, c).Preflight(t.Context(), "orders", []dedup.DeadLetter{deadLetter("a", noon, nil), deadLetter("", noon, nil)}, noon)
			if err != nil || got.StoreFailed == "" || strings.Contains(got.StoreFailed, "secret") {
				t.Fatalf("%+v, %v", got, err)
			}
			if got.Letters[0].Class != preflight.ClassUnknown || got.Letters[1].Class != preflight.ClassMayRunTwice || got.Letters[0].Marker != nil {
				t.Errorf("%+v", got.Letters)
			}
		})
	}
}

func TestAPreflightThatIsCancelledFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := preflighter(t, &cabinet{err: context.Canceled}).Preflight(ctx, "orders", []dedup.DeadLetter{deadLetter("a", noon, nil)}, noon); dedup.KindOf(err) != dedup.Unavailable {
		t.Error(err)
	}
}

func TestAPreflightKnowsItsPipelines(t *testing.T) {
	p := preflighter(t, &cabinet{})
	if _, err := p.Preflight(t.Context(), "<nope>\x00", nil, noon); dedup.KindOf(err) != dedup.NotFound || strings.ContainsRune(dedup.PublicText(err), 0) {
		t.Error(err)
	}
	got, err := p.Preflight(t.Context(), "bare", []dedup.DeadLetter{deadLetter("a", noon, nil)}, noon)
	if err != nil || got.Letters[0].Class != preflight.ClassMayRunTwice {
		t.Errorf("without a store: %+v, %v", got, err)
	}
	got, err = p.Preflight(t.Context(), "keyed", []dedup.DeadLetter{deadLetter("a", noon, map[string]any{"x-key": true}), deadLetter("a", noon, map[string]any{"x-key": int64(7)})}, noon)
	if err != nil || got.Letters[0].Class != preflight.ClassUnknown || got.Letters[1].ID != "7" {
		t.Errorf("by a header: %+v, %v", got, err)
	}
	if got, err := p.Preflight(t.Context(), "orders", nil, noon); err != nil || len(got.Letters) != 0 {
		t.Errorf("nothing: %+v, %v", got, err)
	}
	for name, pipelines := range map[string][]dedup.Pipeline{
		"no store": {{Name: "a", Store: "b", IDFrom: "message_id"}},
		"no place": {{Name: "a", IDFrom: "body"}},
	} {
		if _, err := preflight.New(pipelines, nil); err == nil {
			t.Error(name)
		}
	}
}

func TestManyIDsAreAskedForInParts(t *testing.T) {
	c := &cabinet{markers: map[string]*dedup.Sighting{"m-12345": marked(dedup.Done, time.Hour)}}
	var letters []dedup.DeadLetter
	for i := range 20_001 {
		letters = append(letters, dedup.DeadLetter{Message: message.Message{Properties: message.Properties{MessageID: fmt.Sprintf("m-%d", i), Timestamp: noon}}})
	}
	got, err := preflighter(t, c).Preflight(t.Context(), "orders", letters, noon)
	if err != nil || len(c.asked) != 3 || len(c.asked[2]) != 1 || got.Letters[12345].Class != preflight.ClassSkipped || got.Classes[preflight.ClassRuns] != 20_000 {
		t.Errorf("%d parts, %v, %v", len(c.asked), got.Classes, err)
	}
}

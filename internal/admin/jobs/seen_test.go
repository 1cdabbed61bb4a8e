package jobs_test

import (
	"slices"
	"testing"

	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/lab/admintest"
)

// dieShowing puts a dead letter with some headers and a body into the dead-letter queue.
func (w *ward) dieShowing(id, body string, headers map[string]any) {
	w.die(id)
	w.mu.Lock()
	defer w.mu.Unlock()
	m := &w.queues[deadQueue.Name][len(w.queues[deadQueue.Name])-1]
	m.Body = []byte(body)
	for name, v := range headers {
		m.Headers[name] = v
	}
}

func TestABusinessKeyIsFoundInTheLettersThatShowIt(t *testing.T) {
	w := newWard(t)
	w.dieShowing("in-body", `{"order": "SO-2026-470675", "lines": 3}`, nil)
	w.dieShowing("in-header", "{}", map[string]any{"x-order": "SO-2026-470675"})
	w.dieShowing("no JSON, hidden whole", "failed: SO-2026-470675.", nil)
	w.dieShowing("longer", `{"order": "SO-2026-4706751"}`, nil)
	w.dieShowing("hidden", `{"password": "SO-2026-470675"}`, map[string]any{"x-secret": "SO-2026-470675"})
	w.dieShowing("", `{"order": "SO-2026-470675"}`, nil)
	w.look(t)

	ids, err := w.IDsOfKey(t.Context(), operator, "SO-2026-470675", 10)
	admintest.Must(t, err)
	if want := []string{"in-body", "in-header"}; !slices.Equal(ids, want) {
		t.Errorf("the key is found in %q, want %q", ids, want)
	}
	if ids, err = w.IDsOfKey(t.Context(), operator, "SO-2026-470675", 2); err != nil || len(ids) != 2 {
		t.Errorf("two at most: %q, %v", ids, err)
	}
	for _, key := range []string{"", "3", "in-body", "so-2026-470675"} {
		if ids, err := w.IDsOfKey(t.Context(), operator, key, 10); err != nil || len(ids) != 0 {
			t.Errorf("key %q is found in %q, %v", key, ids, err)
		}
	}
	scans, err := w.Seen(t.Context(), operator, "SO-2026-470675")
	if err != nil || len(scans) != 1 || len(scans[0].Letters) != 1 || scans[0].Letters[0].MessageID != "" {
		t.Errorf("the letter without an id: %+v, %v", scans, err)
	}
	onlooker := operator
	onlooker.Role = auth.Viewer
	if _, err := w.IDsOfKey(t.Context(), onlooker, "SO-2026-470675", 10); dedup.KindOf(err) != dedup.Forbidden {
		t.Errorf("a viewer is told: %v", err)
	}
}

func TestALetterIsSeenUnderEitherSpellingOfItsUUID(t *testing.T) {
	const uuid = "6f9619ff-8b86-d011-b42d-00c04fc964ff"
	w := newWard(t)
	w.die("urn:uuid:" + uuid)
	w.die("another")
	w.look(t)
	for _, id := range []string{uuid, "urn:uuid:" + uuid} {
		if scans, err := w.Seen(t.Context(), operator, id); err != nil || len(scans) != 1 || len(scans[0].Letters) != 1 {
			t.Errorf("%s: %+v, %v", id, scans, err)
		}
	}
}

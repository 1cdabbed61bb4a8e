package jobs_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/jobs"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/message"
	"dedup-dashboard/lab/admintest"
)

// swell puts n dead letters with large bodies into the dead-letter queue, which hold a password each.
func (w *ward) swell(n, size int) {
	w.die(numbered("large", n)...)
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.queues[deadQueue.Name] {
		w.queues[deadQueue.Name][i].Body = fmt.Appendf(nil, `{"id":"large-%d","password":"hunter2","rest":[%s0]}`, i, strings.Repeat(`"a value",`, size/10))
	}
}

// heap is what lives in memory.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestALookKeepsNoSecondCopyOfBodies(t *testing.T) {
	const n, size = 8, 1 << 20
	w := newWard(t)
	w.swell(n, size)
	before := heap()
	var scan deadletter.Scan
	for range 3 {
		scan = w.look(t)
	}
	// The broker in memory shares the bodies with the looks, so that what grows is what the looks have made of them.
	if grown := heap() - before; grown > n*size/2 {
		t.Errorf("three looks at %d MiB take %.1f MiB more", n*size>>20, float64(grown)/(1<<20))
	}
	for _, l := range scan.Letters {
		if l.Body != nil || l.Size < size/2 {
			t.Errorf("a list holds a body of %d bytes of %d", len(l.Body), l.Size)
		}
	}
	l, err := w.Letter(t.Context(), operator, scan.ID, scan.Letters[3].Ref)
	admintest.Must(t, err)
	if !l.Masked || !bytes.Contains(l.Body, []byte(`"id":"large-3"`)) || !bytes.Contains(l.Body, []byte(`"password":"***"`)) {
		t.Errorf("one letter is shown with %.60s", l.Body)
	}
	for filter, want := range map[string]int{"body:large-3": 1, "body:hunter2": 0, `body:"***"`: n} {
		var letters []deadletter.Letter
		admintest.Must(t, w.Export(t.Context(), operator, scan.ID, filter, func(some []deadletter.Letter) error { letters = some; return nil }))
		for _, l := range letters {
			if bytes.Contains(l.Body, []byte("hunter2")) || len(l.Body) == 0 {
				t.Errorf("%s: exported %.60s", filter, l.Body)
			}
		}
		if len(letters) != want {
			t.Errorf("%s: %d letters", filter, len(letters))
		}
	}
	p, err := w.planMove(t, ada, move.Request{Scan: scan.ID, Filter: "body:large-3"})
	admintest.Must(t, err)
	if p.Matching != 1 {
		t.Errorf("planned %d", p.Matching)
	}
}

func TestAMessageWhoseBodyIsTooLargeToBeKeptIsMovedWhole(t *testing.T) {
	w := newWard(t)
	w.swell(2, message.MaxPeekedBody+100)
	w.mu.Lock()
	whole := w.queues[deadQueue.Name][1].Body
	w.mu.Unlock()
	scan := w.look(t)
	l := scan.Letters[1]
	if sum := fmt.Sprintf("%x", sha256.Sum256(whole)); l.Size != len(whole) || l.Hash != sum || !strings.Contains(l.Hidden, "keeps none of more than 4 MiB") {
		t.Errorf("%d bytes, %q, %q", l.Size, l.Hash, l.Hidden)
	}
	revealed, err := w.Reveal(t.Context(), ada, scan.ID, l.Ref)
	admintest.Must(t, err)
	if len(revealed.Body) > 0 || revealed.Hidden != l.Hidden {
		t.Errorf("revealed: %.20q, %q", revealed.Body, revealed.Hidden)
	}
	for name, edit := range map[string]move.Edit{"its body": {Body: []byte("{}")}, "a header": {Headers: map[string]string{"a": "b"}}} {
		_, err := w.planMove(t, ada, move.Request{Scan: scan.ID, Refs: []string{l.Ref}, Edit: &edit})
		if dedup.KindOf(err) != dedup.Invalid || !strings.Contains(dedup.PublicText(err), "cannot be edited") {
			t.Errorf("an edit of %s: %v", name, err)
		}
	}
	var letters []deadletter.Letter
	err = w.Export(t.Context(), ada, scan.ID, "body:large", func(some []deadletter.Letter) error { letters = some; return nil })
	if err != nil || len(letters) != 0 {
		t.Errorf("%d are found by what is in their bodies, %v", len(letters), err)
	}
	job := w.until(t, w.begin(t, move.Request{Scan: scan.ID, Refs: []string{l.Ref}}), func(j jobs.Job) bool { return j.State.Final() })
	w.mu.Lock()
	defer w.mu.Unlock()
	if moved := w.queues["orders"]; job.Moved != 1 || len(moved) != 1 || !bytes.Equal(moved[0].Body, whole) {
		t.Errorf("%s %q %+v, %d in the queue", job.State, job.Why, job.Counts, len(moved))
	}
}

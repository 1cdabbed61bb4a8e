package admin_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"dedup-dashboard/internal/admin"
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
	var scan admin.Scan
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
	must(t, err)
	if !l.Masked || !bytes.Contains(l.Body, []byte(`"id":"large-3"`)) || !bytes.Contains(l.Body, []byte(`"password":"***"`)) {
		t.Errorf("one letter is shown with %.60s", l.Body)
	}
	for filter, want := range map[string]int{"body:large-3": 1, "body:hunter2": 0, `body:"***"`: n} {
		letters, err := w.Export(t.Context(), operator, scan.ID, filter)
		must(t, err)
		for _, l := range letters {
			if bytes.Contains(l.Body, []byte("hunter2")) || len(l.Body) == 0 {
				t.Errorf("%s: exported %.60s", filter, l.Body)
			}
		}
		if len(letters) != want {
			t.Errorf("%s: %d letters", filter, len(letters))
		}
	}
	p, err := w.planMove(t, ada, admin.MoveRequest{Scan: scan.ID, Filter: "body:large-3"})
	must(t, err)
	if p.Matching != 1 {
		t.Errorf("planned %d", p.Matching)
	}
}

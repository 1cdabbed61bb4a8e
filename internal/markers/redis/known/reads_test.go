package known

import (
	"testing"
	"time"
)

func TestOwnReadsAreForgottenWithTheirMarkers(t *testing.T) {
	o := NewReads(time.Hour)
	o.Add("a")
	o.turned = o.turned.Add(-2 * time.Hour)
	o.Add("b")
	if !o.Has("a") || !o.Has("b") {
		t.Error("a key is forgotten too soon")
	}
	o.turned = o.turned.Add(-2 * time.Hour)
	o.Add("c")
	if o.Has("a") || !o.Has("b") || o.Overflowed() {
		t.Error("a key is never forgotten")
	}
	var none *Reads
	none.Add("a")
	if none.Has("a") || none.Overflowed() {
		t.Error("nothing remembers")
	}
}

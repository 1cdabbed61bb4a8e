package known

import (
	"strings"
	"testing"
	"time"
)

func TestRecentTellsEachKeyOnceWithinItsReach(t *testing.T) {
	r := NewRecent()
	key := func(i int) string { return strings.Repeat("k", i%7) + time.Duration(i).String() }
	for i := range 4 * generation {
		if !r.Add(key(i)) {
			t.Fatalf("key %d was new", i)
		}
		if back := i - generation + 1; back >= 0 && r.Add(key(back)) {
			t.Fatalf("key %d was seen %d keys ago", back, generation-1)
		}
	}
}

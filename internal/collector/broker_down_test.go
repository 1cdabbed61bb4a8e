package collector

import (
	"strings"
	"testing"

	"dedup-dashboard/internal/collector/figure"
	"dedup-dashboard/internal/dedup"
)

// TestNothingIsZeroWhileASourceIsDown: what the rules of a scheme imply is shown only while its sources show what consumers do.
func TestNothingIsZeroWhileASourceIsDown(t *testing.T) {
	for _, down := range []string{"broker", "store"} {
		t.Run(down, func(t *testing.T) {
			during(t, func(t *testing.T, b *testBench) {
				pass(2 * testInterval)
				if f := b.pipeline(t, "orders").Windows[0].Swallowed; !f.Known() || f.Source != figure.RulesSource {
					t.Fatalf("before: %+v; want 0 by the rules of the scheme", f)
				}
				source := b.broker
				if down == "store" {
					source = b.store
				}
				source.set(func(f *fakeSource) { f.err = &dedup.Error{Kind: dedup.Unavailable, Public: "it refuses connections"} })
				pass(4 * testInterval)
				for _, w := range b.pipeline(t, "orders").Windows {
					if f := w.Swallowed; f.Known() || !strings.Contains(f.Why, "refuses connections") {
						t.Errorf("%s: swallowed %+v; want unknown, because the %s is down", w.Window, f, down)
					}
				}
				source.set(func(f *fakeSource) { f.err = nil })
				pass(4 * testInterval)
				if f := b.pipeline(t, "orders").Windows[0].Swallowed; !f.Known() {
					t.Errorf("after: %+v", f)
				}
			})
		})
	}
}

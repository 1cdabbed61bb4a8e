package collector

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
)

// TestAllHitsOfASharedStoreBoundEachOfItsPipelines: whose they were does not show, and none has more than there are.
func TestAllHitsOfASharedStoreBoundEachOfItsPipelines(t *testing.T) {
	const why = "the store is shared with pipeline emails"
	base := hitsSpan{From: time.Unix(1010, 3e8), To: time.Unix(1280, 3e8), What: "SETNX"}
	server := func(asked, missed float64) hitsSpan {
		s := base
		s.OfServer, s.OnServer, s.Asked, s.Missed = true, asked, [2]float64{0, 13500}, [2]float64{missed, missed}
		return s
	}
	for name, c := range map[string]struct {
		span   hitsSpan
		shared bool
		most   float64 // hits at most; below 0 where it refuses
	}{
		"statements on one table":                       {hitsSpan{From: base.From, To: base.To, Asked: [2]float64{27000, 27000}, Hits: [2]float64{200, 200}}, true, 200},
		"questions to a server of their own":            {server(27000, 26800), true, 200},
		"questions to a server with others":             {server(90000, 26950), true, 50},
		"fewer questions than acks":                     {server(13000, 12900), true, -1},
		"a store that tells nothing of the time":        {hitsSpan{From: base.From, To: base.To, Why: "it was restarted"}, true, -1},
		"a partner of whom the broker tells nothing":    {server(27000, 26800), false, -1},
		"hits beyond what a number is worth showing of": {server(27000, 20000), true, 7000},
	} {
		store := &storeWatch{}
		p, other := flowing(50, 50, 0, 300), flowing(50, 50, 0, 300)
		p.store, other.store, p.Name, other.Name = store, store, "orders", "emails"
		if !c.shared {
			other.flows.Readings = nil
		}
		collector := &Collector{pipelines: []*pipeline{p, other, {Pipeline: dedup.Pipeline{Name: "payments"}, store: &storeWatch{}}}}
		gain, ok := p.brokerBetween(c.span.From, c.span.To)
		if !ok {
			t.Fatal("the broker tells nothing")
		}
		f := collector.judgeShared(p, view{}, c.span, gain, 5*time.Minute, why).Rate
		acked := (gain.Acked[0] + gain.Acked[1]) / 2
		switch {
		case c.most < 0:
			if f.Known() || f.High > 0 || f.Why == "" {
				t.Errorf("%s: %+v", name, f)
			}
		case f.High*acked < c.most || f.High*acked > c.most+200 || f.Low != 0:
			t.Errorf("%s: %.0f to %.0f duplicates, want at most %.0f", name, f.Low*acked, f.High*acked, c.most)
		case c.most <= 200 && (!f.AtMost() || f.Quality != dedup.Derived || !strings.Contains(f.Why, why)):
			t.Errorf("%s: %+v", name, f)
		case c.most > 200 && f.Known():
			t.Errorf("%s: %+v is shown as a number", name, f)
		}
	}
}

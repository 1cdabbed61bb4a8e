package window

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/dedup"
)

// TestAllHitsOfASharedStoreBoundEachOfItsPipelines: whose they were does not show, and none has more than there are.
func TestAllHitsOfASharedStoreBoundEachOfItsPipelines(t *testing.T) {
	const why = "the store is shared with pipeline emails"
	base := rate.HitsSpan{From: time.Unix(1010, 3e8), To: time.Unix(1280, 3e8), What: "SETNX"}
	server := func(asked, missed float64) rate.HitsSpan {
		s := base
		s.OfServer, s.OnServer, s.Asked, s.Missed = true, asked, [2]float64{0, 13500}, [2]float64{missed, missed}
		return s
	}
	for name, c := range map[string]struct {
		span   rate.HitsSpan
		shared bool
		most   float64 // hits at most; below 0 where it refuses
	}{
		"statements on one table":                       {rate.HitsSpan{From: base.From, To: base.To, Asked: [2]float64{27000, 27000}, Hits: [2]float64{200, 200}}, true, 200},
		"questions to a server of their own":            {server(27000, 26800), true, 200},
		"questions to a server with others":             {server(90000, 26950), true, 50},
		"fewer questions than acks":                     {server(13000, 12900), true, -1},
		"a store that tells nothing of the time":        {rate.HitsSpan{From: base.From, To: base.To, Why: "it was restarted"}, true, -1},
		"a partner of whom the broker tells nothing":    {server(27000, 26800), false, -1},
		"hits beyond what a number is worth showing of": {server(27000, 20000), true, 7000},
	} {
		store := &Store{}
		p, other := flowing(50, 50, 0, 300), flowing(50, 50, 0, 300)
		p.Store, other.Store, p.Config.Name, other.Config.Name = store, store, "orders", "emails"
		if !c.shared {
			other.Traffic.Flows.Readings = nil
		}
		store.Users = []*Pipeline{p, other}
		gain, ok := p.Traffic.between(c.span.From, c.span.To)
		if !ok {
			t.Fatal("the broker tells nothing")
		}
		f := p.hits(View{}).judgeShared(c.span, gain, 5*time.Minute, why).Rate
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

// TestWhatStatementsAskedIsBoundedByAnswersThatCameLate: counts of a reading may be as old as its answer took.
func TestWhatStatementsAskedIsBoundedByAnswersThatCameLate(t *testing.T) {
	p := flowing(50, 50, 0, 302)
	p.Store = &Store{}
	for s := int64(0); s <= 300; s += 5 {
		p.Store.Statements.Add(&dedup.StatementStats{At: time.Unix(1000+s, 5e8), Took: 2 * time.Second, Epoch: 1, Inserts: 50 * s, Met: s})
	}
	h := p.hits(View{Scheme: dedup.Scheme{InsertFirst: true}})
	span, gain, ok := h.span(h.statements(), 150*time.Second)
	if !ok || span.FromTook != 2*time.Second || span.ToTook != 2*time.Second || gain.Acked[0] > 50*148 || gain.Acked[1] < 50*152 {
		t.Errorf("%v: %+v, %+v", ok, span, gain)
	}
}

func TestHitsAreTheirsAloneWhileAPartnerIsDeliveredNothing(t *testing.T) {
	span := rate.HitsSpan{From: time.Unix(1010, 3e8), To: time.Unix(1280, 3e8)}
	delivered := func(from, until int) []sample.LiveReading {
		var all []sample.LiveReading
		for s := range 301 {
			n := float64(max(0, min(s, until)-from))
			all = append(all, sample.LiveReading{At: time.Unix(1000+int64(s), 0), Acked: sample.LiveSum{Count: n}, Delivered: sample.LiveSum{Count: n}})
		}
		return all
	}
	for name, c := range map[string]struct {
		readings []sample.LiveReading
		asks     bool
	}{
		"nothing dies":                    {delivered(0, 0), false},
		"one died long before":            {delivered(3, 4), false},
		"one dies in the window":          {delivered(100, 101), true},
		"one died just before the end":    {delivered(279, 280), true},
		"the broker does not tell":        {nil, true},
		"its counts began anew meanwhile": {append(delivered(0, 0)[:150:150], sample.LiveReading{At: time.Unix(1281, 0), Since: time.Unix(1150, 0)}), true},
	} {
		store := &Store{}
		p, other := flowing(50, 50, 0, 300), &Pipeline{Config: dedup.Pipeline{Name: "morgue"}, Store: store}
		p.Store, p.Partner, other.Traffic.Flows.Readings = store, other.Config.Name, c.readings
		store.Users = []*Pipeline{p, other}
		if got := p.hits(View{}).askingPartner(span); (got == "morgue") != c.asks || got != "" && got != "morgue" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

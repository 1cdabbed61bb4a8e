package window

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/collector/rate"
	"dedup-dashboard/internal/dedup"
)

// TestIDsAreThoseOfOneInsertForEachDelivery: those of others, and of inserts that are tried twice, would look like hits; and those who look elsewhere first
// insert nothing where they meet something.
func TestIDsAreThoseOfOneInsertForEachDelivery(t *testing.T) {
	for name, tt := range map[string]struct {
		// Messages are delivered and acked each second, and ids are given.
		delivered, acked, ids float64
		counts                bool
		why                   string
	}{
		"each inserts once":                      {20, 20, 20, true, ""},
		"some come back and insert again":        {22, 20, 22, true, ""},
		"another consumer inserts too":           {10, 10, 20, true, "others insert, too"},
		"a delivery inserts twice":               {20, 20, 40, true, "inserts several times"},
		"a tenth was found in a cache":           {20, 20, 18, true, "some consumers do not insert"},
		"nobody counts what the broker delivers": {10, 10, 20, false, ""},
	} {
		p, _ := plainShop{ids: tt.ids, rows: tt.ids, done: tt.ids, acked: tt.acked}.pipeline()
		for i := range p.Traffic.Flows.Readings {
			p.Traffic.Flows.Readings[i].Delivered.Count = tt.delivered * float64(i)
		}
		p.Store.Inserts.Told = true
		v := plainView()
		v.CountsAcks, v.CountsDeliveries = tt.counts, tt.counts
		v.Now, v.Scheme.OnFail = time.Unix(1000+shopSeconds, 0), "ack"
		if got := p.idGap(v).figures(5 * time.Minute).Rate; strings.Contains(got.Why, tt.why) != true || tt.why == "" && !got.Known() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestQuestionsThatTheServerDoesNotShowHideHits: consumers look first, in a SELECT that cannot be read or in another place, and insert what they do not find.
func TestQuestionsThatTheServerDoesNotShowHideHits(t *testing.T) {
	for name, tt := range map[string]struct {
		looks       int64 // a second
		acked       float64
		least, most float64 // of the rate
	}{
		"nobody looks first":                           {0, 20, 0, 0},
		"a SELECT that cannot be read may hide some":   {20, 20, 0, 0.001},
		"it hides some":                                {22, 20.06, 0, 0.003},
		"some are found where the server does not see": {0, 20.06, 0, 0.003},
	} {
		p, _ := plainShop{ids: 20, rows: 20, done: 20, acked: tt.acked}.pipeline()
		for i := range p.Traffic.Flows.Readings {
			p.Traffic.Flows.Readings[i].Delivered.Count = tt.acked * float64(i)
		}
		var counted []dedup.StatementStats
		for i, s := range p.Store.Statements.Readings {
			counted = append(counted, dedup.StatementStats{At: s.At, Epoch: 1, Inserts: int64(100 * i), Looks: 5 * tt.looks * int64(i)})
		}
		v := plainView()
		v.Scheme.InsertFirst = false
		span := rate.StatementHits(v.Scheme, &counted[len(counted)-62], &counted[len(counted)-2], 0)
		gain, _ := p.Traffic.between(span.From, span.To)
		f := p.hits(v).judge(span, gain, 5*time.Minute).Rate
		if f.N == 0 || f.Low > tt.least || f.High < tt.most || f.High > tt.most+0.004 {
			t.Errorf("%s: %.4f to %.4f, want %v to %v: %s", name, f.Low, f.High, tt.least, tt.most, f.Why)
		}
	}
}

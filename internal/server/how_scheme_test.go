package server

import (
	"strings"
	"testing"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
)

func TestThePageSaysWhichSourcesNeverTellARateInAScheme(t *testing.T) {
	estimates := make([]dedup.Estimate, 0, len(dedup.Methods()))
	for _, m := range dedup.Methods() {
		estimates = append(estimates, dedup.Estimate{Method: m, Rate: dedup.Unknown(dedup.Ratio, "not told yet")})
	}
	for name, tt := range map[string]struct {
		scheme dedup.Scheme
		never  int
		alone  bool
	}{
		"a lock":           {dedup.Scheme{Kind: "redis-lock", Lock: true, Mark: "before", OnInFlight: "ack", OnFail: "delete"}, 6, true},
		"a marker of text": {dedup.Scheme{Kind: "redis-string", Mark: "before", OnInFlight: "nack", OnFail: "delete", DoneTTL: time.Hour}, 1, false},
	} {
		p := show.Judged{PipelineStatus: &dedup.PipelineStatus{Pipeline: dedup.Pipeline{Name: "orders", Store: "s"}, Windows: []dedup.WindowFigures{{Window: time.Hour, Estimates: estimates}}}}
		how := howView(&dedup.Snapshot{Stores: []dedup.StoreStatus{{Name: "s", Scheme: tt.scheme}}}, p, time.Now())
		never := 0
		for _, row := range how.Rows {
			if strings.HasPrefix(row.Why.Short, "Never in this scheme: ") {
				never++
			}
		}
		if never != tt.never || strings.Contains(how.Line, "unless its consumers report") != tt.alone {
			t.Errorf("%s: %d sources never tell, want %d: %q", name, never, tt.never, how.Line)
		}
	}
}

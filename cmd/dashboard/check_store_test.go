package main

import (
	"fmt"
	"testing"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers"
)

func TestTheSampleBeginsWithTheMarkersThatTellMost(t *testing.T) {
	var r markers.Report
	for i := range sampleKeys {
		r.Samples = append(r.Samples, dedup.Marker{Key: fmt.Sprint("msg:", i), State: dedup.Done})
	}
	r.Samples[3].State = dedup.Processing
	r.Pass.OldestProcessing = []dedup.Marker{{Key: "msg:stuck", State: dedup.Processing}, r.Samples[3]}
	r.Pass.Undecodable = []dedup.Marker{{Key: "msg:odd", State: dedup.StateUnknown}}
	got := telling(r)
	if len(got) != sampleKeys {
		t.Fatalf("%d markers, want %d", len(got), sampleKeys)
	}
	for i, want := range []string{"msg:stuck", "msg:3", "msg:odd", "msg:0", "msg:1", "msg:2", "msg:4"} {
		if got[i].Key != want {
			t.Errorf("marker %d is %s, want %s", i, got[i].Key, want)
		}
	}
}

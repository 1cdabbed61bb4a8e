package main

import (
	"fmt"
	"slices"
	"time"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// quick is the reaction of most: what failed or is in flight comes again soon.
func quick() reaction {
	return reaction{onFail: requeue, failDelay: 200 * ms, onFlight: requeue, flightDelay: 100 * ms}
}

// pipelinesOf are those of a batch; with names only these.
func pipelinesOf(batch int, names []string) ([]*pipeline, error) {
	batches := []func() []spec{batchOne, batchTwo, batchThree, batchFour}
	if batch < 1 || batch > len(batches) {
		return nil, fmt.Errorf("there is no batch %d", batch)
	}
	var all []*pipeline
	for _, s := range batches[batch-1]() {
		if len(names) == 0 || slices.Contains(names, s.name) {
			all = append(all, newPipeline(s))
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("batch %d has none of %v", batch, names)
	}
	return all, nil
}

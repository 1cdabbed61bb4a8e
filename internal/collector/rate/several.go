package rate

import (
	"fmt"
	"math"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/text"
)

// Several says how the open claims of a store speak against consumers that work on one delivery of a channel after another;
// empty when they do not.
//
// Each open claim is held by a channel, or was left behind by one that was closed. Consumers that work on one delivery after
// another hold one for each channel. Those left behind are at most the claims that were open at any earlier time and the
// channels closed since; closed channels are counted late, so that they are bounded like any counter. Consumers that leave claims
// behind in another way, which nothing here counts, look like ones that work on several at once: then the prefetch counts.
//
// The broker counts closed channels of everybody together. Those that provably were of others excuse nothing: so the claims are
// also held against the fewest that were ever open, and the closures since that may have been the pipeline's own.
func Several(readings []sample.EventReading, frames sample.Frames, own *sample.OwnClosures, processing time.Duration) string {
	// slack is how much longer than its time to live a claim may stand.
	const slack = 10 * time.Second
	least := math.Inf(1) // of the claims open at an earlier time, less the channels closed by then
	var gaps float64
	fewest := math.Inf(1) // claims open at an earlier time, and the reading of the broker before it
	var since *sample.Frame
	for _, r := range readings {
		before, ok := frames.Before(r.At)
		later, there := frames.After(r.At.Add(sample.DepthLag))
		if !ok || !there || before.ClosuresBlind || later.ClosuresBlind {
			continue
		}
		if later.Gaps+later.ClosureGaps != gaps { // a restart closes channels that nobody counts
			least, gaps = math.Inf(1), later.Gaps+later.ClosureGaps
			fewest = math.Inf(1)
		}
		least = min(least, r.Open-before.Closures)
		if r.Open <= fewest {
			fewest, since = r.Open, before
		}
		channels, known := frames.Channels(r.At, later)
		if !known || later.Gets != before.Gets {
			continue
		}
		held := channels
		if r.At.Before(r.Since.Add(processing + slack)) {
			// What completes a claim from before the listening began looks like a claim until the store is asked.
			held += channels
		}
		left := least + later.Closures
		if closed, known := own.Most(since, later); known {
			left = min(left, fewest+closed)
		}
		if r.Open > held+left {
			return fmt.Sprintf("more claims are open than consumers have channels (%s, %s): either they work on several deliveries of a channel at once, or they leave claims behind, as by a reject in mid-work",
				text.Counted(text.Whole(r.Open-left), "claim"), text.Counted(text.Whole(channels), "channel"))
		}
	}
	return ""
}

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
)

// report writes what came of a pipeline.
func (j *judgement) report(out io.Writer) {
	dups := count(j.acks, isDup)
	fmt.Fprintf(out, "\n== %s: acked %d, duplicates %.0f (%.2f %%), early %.0f, swallowed %.0f, lost acks %.0f, failures %d, in-flight hits %d, twice %d, orphans %d, died %d\n",
		j.Name, len(j.acks), dups, 100*dups/max(1, float64(len(j.acks))), count(j.acks, isEarly), count(j.acks, isSwallowed), count(j.acks, isLost),
		len(j.by[kindFail]), len(j.by[kindHit]), len(j.by[kindAgain]), len(j.by[kindOrphan]), len(j.by[kindDied]))
	fmt.Fprintf(out, "   first known after %.0f s (5m) %.0f s (15m), usable (±0.5) after %.0f s (5m) %.0f s (15m), ack number after %.0f s\n",
		j.known[300], j.known[900], j.usable[300], j.usable[900], j.ackKnown)
	fmt.Fprintf(out, "   5m shown by %v\n   uses %v\n   findings %v\n", j.sources, j.uses, j.findings)
	for _, what := range slices.Sorted(maps.Keys(j.tallies)) {
		j.tallies[what].report(out, what)
	}
	const most = 6
	texts := slices.SortedFunc(maps.Keys(j.refusals), func(a, b string) int {
		return cmp.Or(cmp.Compare(j.refusals[b], j.refusals[a]), cmp.Compare(a, b))
	})
	for _, text := range texts[:min(most, len(texts))] {
		fmt.Fprintf(out, "   refused %d×: %.260s\n", j.refusals[text], text)
	}
}

// report writes a line, and some of what was false: the first two, the one in the middle and the last.
func (x *tally) report(out io.Writer, what string) {
	fmt.Fprintf(out, "   %-22s judged %4d, false %3d, tight %3d", what, x.judged, x.wrong, x.tight)
	if n := len(x.widths); n > 0 {
		fmt.Fprintf(out, ", width median %.4g last %.4g", quantile(0.5)(x.widths), x.widths[n-1])
	}
	if x.wrong > 0 {
		fmt.Fprintf(out, ", worst %.4g", x.worst)
	}
	fmt.Fprintln(out)
	for i, e := range x.examples {
		if i < 2 || i == len(x.examples)-1 || i == len(x.examples)/2 {
			fmt.Fprintln(out, "        ", e)
		}
	}
}

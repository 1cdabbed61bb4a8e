package finding

import (
	"fmt"
	"math"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// touchedAfterDone finds done markers that were met by a further delivery. It is a lower bound and never the duplicate rate:
// what came within 3 s of the end of the work does not show, and a marker that was met twice counts once.
func touchedAfterDone(store string, p *dedup.Pass) []dedup.Finding {
	if p == nil || p.Touched == nil || p.Touched.Why != "" || p.Touched.Touched == 0 || p.Touched.Sampled < p.Touched.Touched {
		return nil
	}
	n := float64(p.Touched.Sampled)
	share := float64(p.Touched.Touched) / n
	band := 2 * math.Sqrt(share*(1-share)/n)
	return []dedup.Finding{{
		Kind: "touched_after_done", Tier: dedup.Normal,
		Text: fmt.Sprintf("At least %s of %s %s asked for again more than 3 s after %s done", percent(share), text.Counted(p.Touched.Sampled, "done marker"),
			text.Agree(p.Touched.Sampled, "was", "were"), text.Agree(p.Touched.Sampled, "it was", "they were")),
		Evidence: fmt.Sprintf("%s of store %s by their idle time, ± %.1f points where they are a sample; each was done for at least 10 minutes, and it holds where nobody but the consumers reads markers",
			text.Grouped(p.Touched.Touched), text.Name(store), 100*band),
		Remedy: "Compare it with the duplicate rate: a higher share than that means that the rate misses some. Late duplicates come from producers that send again, or from requeued dead letters.",
	}}
}

// percent writes a share with one decimal, and never a share above none as 0.0 %.
func percent(share float64) string {
	if share > 0 && share < 0.0005 {
		return fmt.Sprintf("%.2g %%", 100*share)
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

package check

import (
	"context"
	"fmt"
	"io"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/markers/sql/effect"
)

// tryEffects runs the effect check of a pipeline once and reports what it finds. Its error says that the check cannot run:
// double effects are no fault of the configuration.
func tryEffects(ctx context.Context, w io.Writer, cfg effect.Config) error {
	fmt.Fprintf(w, "\neffect check of pipeline %s\n", cfg.Pipeline)
	check, err := effect.Open(cfg)
	if err != nil {
		return err
	}
	defer check.Close()
	r, err := check.Check(ctx)
	if err != nil {
		fmt.Fprintf(w, "  PROBLEM %s\n", dedup.PublicText(err))
		return errNotReadable
	}
	least := ""
	if r.More {
		least = "at least "
	}
	fmt.Fprintf(w, "  ran in %s of its %s: %s%s whose work was done more than once\n", r.Took.Round(time.Millisecond), cfg.Timeout, least, amount(len(r.Keys), "business key"))
	if r.More {
		fmt.Fprintf(w, "  NOTE the answer is longer than max_rows, %d: which of its keys are new cannot be told\n", cfg.MaxRows)
	}
	if r.NullRows > 0 {
		fmt.Fprintf(w, "  NOTE %s of the answer without a key (NULL) left out\n", amount(r.NullRows, "row"))
	}
	if r.SingleRows > 0 {
		fmt.Fprintf(w, "  NOTE %s of the answer with a count below 2 left out: add HAVING COUNT(*) > 1\n", amount(r.SingleRows, "row"))
	}
	const shown = 5
	for _, k := range r.Keys[:min(len(r.Keys), shown)] {
		fmt.Fprintf(w, "  FINDING double_effect: %s, %d times\n", shortQuote(k.Key), k.Count)
	}
	if more := len(r.Keys) - shown; more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
	return nil
}

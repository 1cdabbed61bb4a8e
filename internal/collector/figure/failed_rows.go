package figure

import (
	"fmt"
	"slices"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// FailedRowsSource is where failures come from that nobody reports and that leave a row.
const FailedRowsSource = "failed rows"

// failedRows fills in the failures and their rate from the failed rows of the last pass, where nobody reports them: those whose last change
// is in the window that ends at the start of the pass.
func (x Explanation) failedRows(out *dedup.WindowFigures) {
	pass := x.Stats.Pass
	if out.Failures.Known() || !x.Scheme.DatesFailures() || x.Scheme.Business || !slices.Contains(x.Scheme.States, dedup.Failed) || pass == nil || x.StoreDown != "" {
		return
	}
	if x.Partner != "" {
		out.Failures.Why = fmt.Sprintf("the store is shared with pipeline %s, and rows do not tell whose they are", text.Name(x.Partner))
		return
	}
	end := pass.Started.Add(pass.ClockOffset)
	from := end.Add(-out.Window)
	failed, done := float64(pass.FailedAt.Between(from, end)), float64(pass.Completions.Between(from, end))
	hidden := x.hidesFailures(pass)
	if x.Scheme.OnFail == "delete" && failed == 0 {
		out.Failures.Why, out.Failures.Source = hidden, FailedRowsSource
		return
	}
	f := dedup.Exact(dedup.Derived, dedup.Count, failed, pass.Started, FailedRowsSource)
	f.Window, f.Covered, f.N = out.Window, min(max(pass.Started.Sub(x.Vouched), 0), out.Window), failed+done
	f.Formula = "rows that are failed, by the time of their last change, else of their insert"
	f.AtLeast, f.Why = hidden != "", hidden
	out.Failures = f
	switch {
	case hidden != "":
		out.FailureRate.Why, out.FailureRate.Source = hidden, FailedRowsSource
	case pass.UndatedCompletions > 0:
		out.FailureRate.Why, out.FailureRate.Source = "the rows do not tell when their work was done", FailedRowsSource
	case failed+done == 0:
		out.FailureRate.Why, out.FailureRate.Source = "no row failed or became done in the window", FailedRowsSource
	default:
		r := f
		r.Unit, r.Hits, r.Formula = dedup.Ratio, failed, "failed rows / (done rows + failed rows)"
		r.Value = failed / (failed + done)
		r.Low, r.High = r.Value, r.Value
		out.FailureRate = r
	}
}

// hidesFailures says why there were more failures than there are failed rows, empty where each failure leaves its row.
func (x Explanation) hidesFailures(pass *dedup.Pass) string {
	switch {
	case x.Scheme.OnFail == "delete":
		return "at least: a failure of this scheme takes its row away"
	case x.Scheme.OnFailed == "run":
		return "at least: consumers take failed rows again, and one that is taken is failed no more"
	case pass.UndatedFailures > 0:
		return fmt.Sprintf("at least: %s no time", text.Counted(pass.UndatedFailures, "failed row")+" "+text.Agree(pass.UndatedFailures, "has", "have"))
	}
	return ""
}

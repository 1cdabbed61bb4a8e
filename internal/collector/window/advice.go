package window

import (
	"dedup-dashboard/internal/collector/rate"
)

// What to do where consumers reported before, where what they count cannot be read, and where the store that they do not report to is down.
const (
	BetterResume = "See why the consumers stopped to report: they did before (docs/consumers.md)."
	BetterBack   = "Bring the source of the reported counters back: what consumers count is read there."
	BetterStore  = "Bring the store back: then its markers tell it again."
)

// advice is what rate.BetterReport comes to for a pipeline: who reports already must not be told to.
func (v *View) advice(rep rate.ReportedResult) string {
	switch {
	case v.Reports.Known && v.ReportDown != "" && (v.Reports.Present || v.StoreDown == ""):
		return BetterBack
	case v.StoreDown != "" && v.Scheme.HasStore():
		return BetterStore // nothing was ever reported: that is not what is amiss now
	case v.Reports.Present && rep.Rate.Why == rate.ReportsStopped:
		return BetterResume
	case v.Reports.Present:
		return ""
	}
	return rate.BetterReport
}

package collector

import (
	"dedup-dashboard/internal/collector/rate"
)

const (
	betterResume = "See why the consumers stopped to report: they did before (docs/consumers.md)."
	betterBack   = "Bring the source of the reported counters back: what consumers count is read there."
	betterStore  = "Bring the store back: then its markers tell it again."
)

// reportAdvice is what rate.BetterReport comes to for a pipeline: who reports already must not be told to.
func (p *pipeline) reportAdvice(v view, rep rate.ReportedResult) string {
	switch {
	case p.report != nil && v.reportDown != "" && (p.present || v.storeDown == ""):
		return betterBack
	case v.storeDown != "":
		return betterStore // nothing was ever reported: that is not what is amiss now
	case p.present && rep.Rate.Why == rate.ReportsStopped:
		return betterResume
	case p.present:
		return ""
	}
	return rate.BetterReport
}

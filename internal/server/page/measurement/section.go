package measurement

import (
	"net/url"
	"time"

	"dedup-dashboard/internal/admin/measuring"
	"dedup-dashboard/internal/auth"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// Section is what the page of a pipeline says of exact measurements: nothing where they are off and there was none.
func (m Measurements) Section(r *web.Request, base, pipeline string, most int, now time.Time) (templates.MeasureSection, error) {
	service, err := m.known()
	if err != nil {
		return templates.MeasureSection{}, err
	}
	all, err := service.List(r.Context(), pipeline)
	if err != nil {
		return templates.MeasureSection{}, err
	}
	path := base + "/pipelines/" + url.PathEscape(pipeline) + "/measurements"
	why := service.WhyNot(pipeline)
	v := templates.MeasureSection{Shown: why != measuring.Off || len(all) > 0, Action: path}
	switch {
	case why != "":
		v.Action, v.WhyNot = "", show.Capital(show.EndSentence(why))
	case !r.Who.Can(auth.Operator):
		v.Action, v.WhyNot = "", r.NeedsRole("Measuring", auth.Operator)
	}
	if len(all) > 0 {
		v.All = path
	}
	v.Last = templates.Sentence(lastMeasured(all, now))
	for _, one := range all[:min(len(all), most)] {
		v.Rows = append(v.Rows, measureRow(base, one, now))
	}
	return v, nil
}

// lastMeasured says what the newest measurement that has a result found, and how far the live figure was off then.
func lastMeasured(all []dedup.Measurement, now time.Time) string {
	for _, m := range all {
		if m.Result == nil {
			continue
		}
		text := "Last measured " + show.Ago(m.Ended, now) + ": " + measuredRate(m.Result) + " " + measuredBand(m.Result) + " " + measuredOf(m.Result) + "."
		if l := m.Result.Latency; l.N > 0 {
			text += " Ack latency p50 " + templates.Latency(l.P50) + ", p95 " + templates.Latency(l.P95) + ", p99 " + templates.Latency(l.P99) + "."
		}
		if m.Live != nil {
			text += " " + calibrationText(m.Live)
		}
		return text
	}
	return ""
}

func measureRow(base string, m dedup.Measurement, now time.Time) templates.MeasureRow {
	row := templates.MeasureRow{Href: address(base, m.ID), At: show.Moment(m.Started, now),
		By: show.Name(m.By), Why: templates.Sentence(m.Why)}
	row.State, row.Tier = measureWord(m)
	if m.Result != nil {
		row.Rate, row.Of = measuredRate(m.Result)+" "+measuredBand(m.Result), templates.Number(m.Result.Messages)
	}
	if m.Live != nil {
		row.Off = inPoints(m.Live.Off, true)
	}
	return row
}

// measureWord is the state of a measurement in a word, with the tier that colours it.
func measureWord(m dedup.Measurement) (word, tier string) {
	switch m.State {
	case dedup.MeasurementRunning:
		if m.Began.IsZero() && len(m.Commands) > 0 {
			return "waiting", dedup.Warning.String()
		}
		return "measuring", dedup.TierUnknown.String()
	case dedup.MeasurementDone:
		return "done", dedup.Normal.String()
	case dedup.MeasurementFailed:
		return "failed", dedup.Severe.String()
	default:
		return string(m.State), dedup.Warning.String()
	}
}

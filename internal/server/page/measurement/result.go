package measurement

import (
	"math"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

// showMeasuring fills in how far a measurement has come.
func showMeasuring(v *templates.MeasurementView, m dedup.Measurement, now time.Time) {
	v.Total, v.Stop = int(m.Length.Seconds()), v.Self+"/stop"
	if m.Began.IsZero() {
		v.Seen = "tracing has not begun"
		if v.Waiting = len(m.Commands) > 0; v.Waiting {
			v.Commands = strings.Join(m.Commands, "\n")
		}
		return
	}
	v.Done = min(v.Total, max(0, int(now.Sub(m.Began).Seconds())))
	v.Quarter = strconv.Itoa(v.Done * 4 / max(v.Total, 1) * 25)
	if v.Seen = show.Counted(m.Seen, "delivery") + " seen"; m.Seen != 1 {
		v.Seen = templates.Number(m.Seen) + " deliveries seen"
	}
	if v.Done == v.Total {
		v.Seen += ", reading the last markers"
	}
}

func measureMeta(m dedup.Measurement, now time.Time) []templates.Fact {
	var queues []string
	for _, q := range m.Queues {
		queues = append(queues, q.Name)
	}
	facts := show.Facts{
		{Label: "Queues", Value: templates.Plain(strings.Join(queues, ", "), 200).Short},
		{Label: "Broker", Value: show.ShortName(m.Broker)},
		{Label: "By", Value: show.ShortName(m.By)},
		{Label: "Started", Value: show.Moment(m.Started, now).Full},
	}
	if r := m.Result; r != nil {
		how := "times of markers"
		if r.Events {
			how = "store events and times of markers"
		}
		facts = append(facts, templates.Fact{Label: "Traced", Value: templates.Latency(r.Ended.Sub(r.Began).Seconds())},
			templates.Fact{Label: "Deliveries", Value: templates.Number(r.Traced) + " traced, " + templates.Number(math.Round(r.Counted)) + " counted by the broker"},
			templates.Fact{Label: "Told by", Value: how})
		if r.NoID > 0 {
			facts.Add("Without an id", templates.Number(r.NoID)+": "+templates.Plain(r.WhyNoID, 120).Short)
		}
	}
	return facts
}

// measuredRate is the rate of a result, a bound where no more can be told.
func measuredRate(r *dedup.SessionResult) string {
	_, value, high := r.Rate()
	if r.AtMost {
		return "≤ " + templates.Percent(high)
	}
	return templates.Percent(value)
}

// measuredBand is the half width of the count's error in points.
func measuredBand(r *dedup.SessionResult) string {
	if r.AtMost || r.Messages == 0 {
		return ""
	}
	return "± " + strconv.FormatFloat(math.Ceil(1e4*r.Band/float64(r.Messages))/100, 'f', 2, 64)
}

func measuredOf(r *dedup.SessionResult) string {
	return "of " + templates.Number(r.Messages) + " " + show.Plural(r.Messages, "message", "messages")
}

// inPoints is a difference of two rates in points.
func inPoints(ratio float64, signed bool) string {
	text := strconv.FormatFloat(math.Abs(100*ratio), 'f', 2, 64)
	switch {
	case text == "0.00":
		return "0.00 points"
	case signed && ratio > 0:
		return "+" + text + " points"
	case signed:
		return "−" + text + " points"
	}
	return text + " points"
}

// calibrationText says how far the live figure was off.
func calibrationText(c *dedup.Calibration) string {
	source, _ := show.MethodWords(c.Method)
	text := source + " showed " + templates.Percent(c.Value) + " for the same time: "
	switch {
	case inPoints(c.Off, false) == "0.00 points":
		text += "no different"
	case c.Off > 0:
		text += inPoints(c.Off, false) + " too high"
	default:
		text += inPoints(c.Off, false) + " too low"
	}
	if c.Held {
		return text + ", within its band."
	}
	return text + ", beyond its band of " + templates.PercentRange(c.Low, c.High) + "."
}

func measuredView(base, self string, m dedup.Measurement, senders bool, now time.Time) *templates.MeasuredView {
	r := m.Result
	low, high := r.Sampling()
	v := &templates.MeasuredView{Rate: measuredRate(r), Band: measuredBand(r), Of: measuredOf(r), Senders: senders,
		CSV: self + "/repeated.csv", JSON: base + "/api/v1" + strings.TrimPrefix(self, base), Parts: measuredParts(r)}
	switch {
	case r.AtMost:
		v.Sampling = templates.Sentence("No more than a bound: markers of this scheme are written before the work, and cannot tell lost work from done work.")
	default:
		v.Sampling = templates.Sentence("The band is that of the count. By chance alone the rate of a longer time may be " + templates.PercentRange(low, high) + " (95 %).")
	}
	if m.Live != nil {
		v.Live = templates.Sentence(calibrationText(m.Live))
	}
	measuredLatency(v, r)
	for _, o := range r.Origins {
		v.Origins = append(v.Origins, templates.OriginRow{Exchange: exchangeText(o.Exchange), RoutingKey: templates.Plain(o.RoutingKey, 120),
			UserID: show.Name(o.UserID), AppID: show.Name(o.AppID),
			Copies: templates.Number(o.Copies), Duplicates: templates.Number(o.Duplicates)})
	}
	for _, p := range r.Repeated {
		v.Repeated = append(v.Repeated, repeatedRow(base, p, now))
	}
	switch left := r.RepeatedIDs - int64(len(r.Repeated)); {
	case r.RepeatedIDs == 0:
		v.RepeatedNote = "None: no message was delivered after its work was done."
	case left > 0:
		v.RepeatedNote = templates.Number(r.RepeatedIDs) + " messages were duplicated; the " + templates.Number(len(r.Repeated)) + " most often are kept."
	default:
		v.RepeatedNote = show.Counted(r.RepeatedIDs, "message") + " " + show.Plural(r.RepeatedIDs, "was", "were") + " duplicated. Ids of other messages are not kept."
	}
	return v
}

// exchangeText names an exchange; the default one has no name.
func exchangeText(name string) templates.Text {
	if name == "" {
		return show.Name("(default)")
	}
	return templates.Plain(name, 120)
}

func measuredParts(r *dedup.SessionResult) []templates.MeasuredPart {
	all := []struct {
		word, meaning string
		tier          dedup.Tier
		n             int64
		always        bool
	}{
		{"sent again", "duplicates: copies that a producer sent", dedup.TierUnknown, r.Sent, true},
		{"redelivered", "duplicates: came again because an ack was lost", dedup.TierUnknown, r.Redelivered, true},
		{"in flight", "acked while the work was under way elsewhere", dedup.Warning, r.InFlight, false},
		{"swallowed", "acked although the work was never done", dedup.Severe, r.Swallowed, false},
		{"done twice", "work that was done once more", dedup.Severe, r.Doubled, false},
		{"failures", "times that work failed", dedup.Warning, r.Failures, true},
		{"retries", "deliveries that came again before the work was done", dedup.TierUnknown, r.Retries, true},
		{"open", "deliveries without an outcome at the end", dedup.TierUnknown, r.Unsettled, false},
	}
	var out []templates.MeasuredPart
	for _, p := range all {
		if p.n > 0 || p.always {
			out = append(out, templates.MeasuredPart{Word: p.word, Meaning: p.meaning, Tier: p.tier.String(), Count: int(p.n)})
		}
	}
	return out
}

// measuredLatency fills in the distribution of ack latencies.
func measuredLatency(v *templates.MeasuredView, r *dedup.SessionResult) {
	l := r.Latency
	if l.N == 0 {
		v.LatencyNote = "Unknown: " + show.EndSentence(r.LatencyWhy)
		return
	}
	for _, x := range []struct {
		label   string
		seconds float64
	}{{"Mean", l.Mean}, {"p50", l.P50}, {"p95", l.P95}, {"p99", l.P99}} {
		v.Latency = append(v.Latency, templates.Fact{Label: x.label, Value: templates.Latency(x.seconds)})
	}
	v.LatencyNote = "From delivery to completion, of " + templates.Number(l.N) + " first works; the ack follows at once."
	most := int64(1)
	first, last := len(l.Counts), 0
	for i, n := range l.Counts {
		if most = max(most, n); n > 0 {
			first, last = min(first, i), i
		}
	}
	for i := first; i <= last && i < len(l.Counts); i++ {
		label := "longer"
		if i < len(l.Bounds) {
			label = "≤ " + templates.Latency(l.Bounds[i])
		}
		n := l.Counts[i]
		v.Bars = append(v.Bars, templates.MeasuredBar{Label: label, Count: int(n), Wide: strconv.FormatFloat(100*float64(n)/float64(most), 'f', 1, 64) + "%",
			Share: templates.Percent(float64(n) / float64(l.N))})
	}
}

func repeatedRow(base string, p dedup.RepeatedID, now time.Time) templates.RepeatedRow {
	row := templates.RepeatedRow{ID: templates.MarkerLine{ID: templates.Plain(p.ID, 80), Href: web.LookupAddress(base, p.ID)},
		Deliveries: templates.Number(p.Deliveries), Duplicates: templates.Number(p.Duplicates), Cause: repeatCause(p), First: show.Moment(p.First, now)}
	if p.Deliveries > 1 {
		row.Gap = templates.Latency(p.Gap.Seconds())
	}
	if p.Done > 0 {
		row.Done = templates.Latency(p.Done.Seconds())
	}
	for _, o := range p.Origins {
		row.From = append(row.From, templates.Plain(originText(o), 400))
	}
	return row
}

// repeatCause says why a message was duplicated.
func repeatCause(p dedup.RepeatedID) string {
	switch {
	case p.Redelivered == 0:
		return "sent again"
	case p.Redelivered == p.Duplicates:
		return "ack lost"
	}
	return "sent again, ack lost"
}

// originText names a way by which copies came, with what they carried.
func originText(o dedup.Origin) string {
	parts := []string{templates.Number(o.Copies) + " × " + exchangeText(o.Exchange).Full + " → " + o.RoutingKey}
	if o.UserID != "" {
		parts = append(parts, "user_id "+o.UserID)
	}
	if o.AppID != "" {
		parts = append(parts, "app_id "+o.AppID)
	}
	for _, name := range sortedNames(o.Headers) {
		parts = append(parts, name+": "+o.Headers[name])
	}
	return strings.Join(parts, ", ")
}

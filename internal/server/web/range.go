package web

import (
	"net/url"
	"time"

	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/text"
	"dedup-dashboard/web/templates"
)

// Range is the state of a pipeline's page that lives in its address: the range and the scale of its charts.
type Range struct {
	// preset is one of presets(), or empty for an absolute range.
	preset string
	from   time.Time
	to     time.Time
	// Linear draws latency on a linear axis instead of a logarithmic one.
	Linear bool
}

// maxRange is the longest range that is drawn; what is older than the retention is a gap anyway.
const maxRange = 400 * 24 * time.Hour

// columns is about how many points a line has: more cannot be told apart on a screen.
const columns = 240

type preset struct {
	word string
	span time.Duration
}

func presets() []preset {
	return []preset{
		{"15m", 15 * time.Minute}, {"1h", time.Hour}, {"6h", 6 * time.Hour}, {"24h", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour},
	}
}

// ParseRange reads range, from, to and scale. Times without a zone are in the zone of now.
func ParseRange(values url.Values, now time.Time) (Range, error) {
	q := Range{}
	switch values.Get("scale") {
	case "", "log":
	case "lin":
		q.Linear = true
	default:
		return q, list.Bad("scale", "must be lin or log")
	}
	if values.Get("from") != "" || values.Get("to") != "" {
		return q.absolute(values, now)
	}
	word := values.Get("range")
	if word == "" {
		word = "1h"
	}
	for _, p := range presets() {
		if p.word == word {
			q.preset, q.to, q.from = word, now, now.Add(-p.span)
			return q, nil
		}
	}
	return q, list.Bad("range", "must be 15m, 1h, 6h, 24h or 7d")
}

func (q Range) absolute(values url.Values, now time.Time) (Range, error) {
	const how = "is not a time; write it as 2026-11-21T14:00, yesterday 14:00 or 2h"
	q.to = now
	if s := values.Get("to"); s != "" {
		at, err := text.Reader{Now: now}.Read(s)
		if err != nil {
			return q, list.Bad("to", how)
		}
		q.to = at.Last().In(now.Location())
	}
	q.from = q.to.Add(-time.Hour)
	if s := values.Get("from"); s != "" {
		at, err := text.Reader{Now: now}.Read(s)
		if err != nil {
			return q, list.Bad("from", how)
		}
		q.from = at.At.In(now.Location()) // where the clocks show from or to twice, the range holds both
	}
	switch span := q.to.Sub(q.from); {
	case span < time.Minute:
		return q, list.Bad("from", "must be at least a minute before to")
	case span > maxRange:
		return q, list.Bad("from", "must be at most 400 days before to")
	}
	return q, nil
}

// Values writes the query back, without its defaults.
func (q Range) Values() url.Values {
	v := url.Values{}
	switch q.preset {
	case "1h":
	case "":
		v.Set("from", q.from.UTC().Format(time.RFC3339))
		v.Set("to", q.to.UTC().Format(time.RFC3339))
	default:
		v.Set("range", q.preset)
	}
	if q.Linear {
		v.Set("scale", "lin")
	}
	return v
}

// Address is the page with this query.
func (q Range) Address(path string) string {
	if v := q.Values(); len(v) > 0 {
		return path + "?" + v.Encode()
	}
	return path
}

// step is the distance of two points: the interval of the collector, or a multiple of it on long ranges.
func (q Range) step(interval time.Duration) time.Duration {
	if interval <= 0 {
		interval = 15 * time.Second
	}
	raw := q.to.Sub(q.from) / columns
	return max(1, (raw+interval-1)/interval) * interval
}

// Window returns the range on whole steps, so that points stay where they are from one drawing to the next.
func (q Range) Window(interval time.Duration) (from, to time.Time, step time.Duration) {
	step = q.step(interval)
	grid := max(interval, time.Second)
	to = q.to.Truncate(grid)
	return to.Add(-q.to.Sub(q.from).Truncate(step)), to, step
}

// RangeView is the form with its links.
func RangeView(q Range, path string, now time.Time) templates.Range {
	span := q.to.Sub(q.from)
	shifted := func(from, to time.Time) string {
		return Range{from: from, to: to, Linear: q.Linear}.Address(path)
	}
	r := templates.Range{
		Action: path, Zone: now.Location().String(), Earlier: shifted(q.from.Add(-span), q.from),
		Wider: shifted(q.from.Add(-span), q.to),
	}
	if span*2 > maxRange {
		r.Wider = q.Address(path)
	}
	if later := q.to.Add(span); !later.After(now.Add(time.Second)) {
		r.Later = shifted(q.to, later)
	}
	for _, p := range presets() {
		r.Links = append(r.Links, templates.PageLink{
			Label: p.word, Href: Range{preset: p.word, Linear: q.Linear}.Address(path), Current: q.preset == p.word,
		})
	}
	if q.Linear {
		r.Scale = "lin"
	}
	r.Text = q.from.Format("2 Jan 15:04") + " to " + q.to.Format("2 Jan 15:04 MST")
	if q.from.Format("MST") != q.to.Format("MST") { // the clocks were changed in between
		r.Text = q.from.Format("2 Jan 15:04 MST") + " to " + q.to.Format("2 Jan 15:04 MST")
	}
	r.From, r.To = q.from.Format("2006-01-02T15:04:05"), q.to.Format("2006-01-02T15:04:05")
	if q.preset != "" {
		r.Text = "last " + templates.Window(span)
	}
	other := q
	other.Linear = !q.Linear
	r.ScaleLink = templates.PageLink{Label: "Linear latency axis", Href: other.Address(path)}
	if q.Linear {
		r.ScaleLink.Label = "Logarithmic latency axis"
	}
	return r
}

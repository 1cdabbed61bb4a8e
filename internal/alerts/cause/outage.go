package cause

import (
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/text"
)

// An outage is a source of a pipeline that cannot be read.
type outage struct {
	source, why string
	// since is when it was first missed, answered when it last answered, ended when it answered again; zero where it did not.
	since, answered, ended time.Time
}

// outageOf is the source that is down, of several the store first: without it consumers do not work. One that was not tried yet is not.
func outageOf(down []dedup.SourceHealth) (outage, bool) {
	for _, kind := range []string{"store", "broker", "totals", "reported"} {
		if i := slices.IndexFunc(down, func(h dedup.SourceHealth) bool { return h.Kind == kind && h.Tried && !h.OK }); i >= 0 {
			h := down[i]
			o := outage{source: h.Name, why: quoted(dedup.Event{Text: h.Err}), since: h.Since, answered: h.LastSuccess}
			if o.since.IsZero() {
				o.since = h.LastTry
			}
			return o, true
		}
	}
	return outage{}, false
}

// mayBeBehind reports whether an alert began after the source answered for the last time, or if it never did was first missed: else it
// has another reason.
func (o outage) mayBeBehind(began time.Time) bool {
	last := o.answered
	if last.IsZero() {
		last = o.since
	}
	return began.IsZero() || !began.Before(last)
}

// over notes when the source answered again.
func (o outage) over(sources []dedup.SourceHealth) outage {
	i := slices.IndexFunc(sources, func(h dedup.SourceHealth) bool { return h.Name == o.source })
	if i >= 0 && sources[i].OK && !sources[i].Since.Before(o.since) {
		o.ended = sources[i].Since
	}
	return o
}

func (o outage) sentence(zone *time.Location) string {
	said := o.source + " cannot be read"
	if !o.ended.IsZero() {
		said = o.source + " could not be read from " + o.since.In(zone).Format(time.TimeOnly) + " to " + o.ended.In(zone).Format(time.TimeOnly)
	} else if !o.since.IsZero() {
		said += " since " + o.since.In(zone).Format(time.TimeOnly)
	}
	if o.why != "" {
		said += " (" + o.why + ")"
	}
	return text.Capitalised(said) + "."
}

package counter

import (
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/series"
)

// A Batch is what one round stores: samples by series, so that the series that ended since the round before are known.
type Batch map[string]series.Sample

// Add adds a value, with labels given as name, value, name, value.
func (b Batch) Add(metric string, value float64, labels ...string) {
	m := make(map[string]string, len(labels)/2)
	for i := 0; i+1 < len(labels); i += 2 {
		m[labels[i]] = labels[i+1]
	}
	b[Key(metric, m)] = series.Sample{Name: metric, Labels: m, Value: value}
}

// Figure adds a figure that is known.
func (b Batch) Figure(metric string, f dedup.Figure, labels ...string) {
	if f.Known() {
		b.Add(metric, f.Value, labels...)
	}
}

// Tallies adds the tallies that have a meaning.
func (b Batch) Tallies(ts ...*Tally) {
	for _, t := range ts {
		if t.Open {
			b[t.key] = t.sample()
		}
	}
}

func (b Batch) list() []series.Sample {
	out := make([]series.Sample, 0, len(b))
	for _, s := range b {
		out = append(out, s)
	}
	return out
}

// ended returns the samples of old whose series are not in b.
func (b Batch) ended(old Batch) []series.Sample {
	var out []series.Sample
	for key, s := range old {
		if _, ok := b[key]; !ok {
			out = append(out, s)
		}
	}
	return out
}

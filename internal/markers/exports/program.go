package exports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"dedup-dashboard/internal/dedup"
)

// A sample is one counter as an instance showed it.
type sample struct {
	metric string
	labels map[string]string
	value  float64
}

// A place is what a sample adds to: a term of a field, and of a distribution one of its parts.
type place struct {
	field             string
	alternative, term int
	part              part
}

// A part is one of a distribution: the sum, the count, or the bucket with an upper bound as the series spells it. It is empty for counters.
type part string

const (
	partSum    part = "_sum"
	partCount  part = "_count"
	partBucket part = "_bucket"
)

// The fields beside the outcomes.
const (
	fieldHandled    = "handled"
	fieldFailed     = "failed"
	fieldDuplicates = "duplicates"
	fieldAck        = "ack"
	fieldWork       = "work"
)

// A program is a recipe that can be run.
type program struct {
	name   string // of the recipe; empty for outcomes
	recipe recipe
	fields map[string]expr
	// bound are the places of each metric.
	bound  map[string][]binding
	labels map[string]string
	queues []string
}

type binding struct {
	selector
	place
}

// compile makes the program of a configuration with its defaults.
func (c Config) compile() (*program, error) {
	p := &program{name: c.Recipe, fields: map[string]expr{}, bound: map[string][]binding{}, labels: c.Labels, queues: c.Queues}
	texts := map[string]string{}
	if c.Recipe == "" {
		p.outcomes(c)
		texts = map[string]string{fieldAck: c.AckMetric, fieldWork: c.WorkMetric}
	} else {
		r, err := c.recipe()
		if err != nil {
			return nil, err
		}
		p.recipe = r
		texts = map[string]string{fieldHandled: r.Handled, fieldFailed: r.Failed, fieldDuplicates: r.Duplicates, fieldAck: r.Ack, fieldWork: r.Work}
	}
	for _, field := range []string{fieldHandled, fieldFailed, fieldDuplicates, fieldAck, fieldWork} {
		e, err := parseExpr(texts[field])
		if err != nil {
			return nil, fmt.Errorf("custom.%s: %w", field, err)
		}
		p.bind(field, e, field == fieldAck || field == fieldWork)
	}
	return p, nil
}

// outcomes are the counters of docs/consumers.md.
func (p *program) outcomes(c Config) {
	for _, outcome := range dedup.ReportedOutcomes() {
		s := selector{metric: c.Metric, matchers: []matcher{{label: c.OutcomeLabel, value: outcome}}}
		p.bind(outcome, expr{{term{s, 1}}}, false)
	}
}

func (p *program) bind(field string, e expr, distribution bool) {
	if len(e) == 0 {
		return
	}
	p.fields[field] = e
	for i, alternative := range e {
		for j, t := range alternative {
			parts := []part{""}
			if distribution {
				parts = []part{partBucket, partSum, partCount}
			}
			for _, part := range parts {
				name := t.metric + string(part)
				p.bound[name] = append(p.bound[name], binding{t.selector, place{field, i, j, part}})
			}
		}
	}
}

// metrics are the names of all series of interest, sorted.
func (p *program) metrics() []string {
	return slices.Sorted(maps.Keys(p.bound))
}

// places are what a sample adds to; none for one of another pipeline. Of a bucket the part holds its bound.
func (p *program) places(s *sample) []place {
	bound := p.bound[s.metric]
	if len(bound) == 0 || !p.concerns(s.labels) {
		return nil
	}
	var out []place
	for _, b := range bound {
		if !b.fits(s.labels) {
			continue
		}
		at := b.place
		if at.part == partBucket {
			le, ok := s.labels["le"]
			if !ok || len(le) > 32 {
				continue
			}
			at.part += part(le)
		}
		out = append(out, at)
	}
	return out
}

// concerns reports whether a series is of the pipeline by its labels.
func (p *program) concerns(labels map[string]string) bool {
	for name, value := range p.labels {
		if labels[name] != value {
			return false
		}
	}
	if len(p.recipe.QueueLabels) == 0 || len(p.queues) == 0 {
		return true
	}
	seen := p.queueOf(labels)
	return slices.ContainsFunc(p.queues, func(q string) bool { return p.recipe.QueueForm.names(seen, q) })
}

// queueOf is what a series says of its queue, empty where it says nothing.
func (p *program) queueOf(labels map[string]string) string {
	for _, name := range p.recipe.QueueLabels {
		if value := labels[name]; value != "" {
			return value
		}
	}
	return ""
}

// names reports whether a label says the name of a queue.
func (f queueForm) names(label, queue string) bool {
	switch f {
	case underscored:
		return written(label) == written(queue)
	case lastPart:
		return label == queue || strings.HasSuffix(label, ":"+queue)
	case lastSegment:
		return label == queue || strings.HasSuffix(label, "/"+queue)
	}
	return label == queue
}

// written replaces every character but letters and digits.
func written(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, name)
}

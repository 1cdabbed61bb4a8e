package ruletest

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// pipeline reads one that a test describes, over that of the configuration if there is one.
func (p *parser) pipeline(n *yaml.Node, t *test) {
	f, ok := p.group(n, "a pipeline", "name!", "broker", "store", "labels", "max_processing", "limits")
	if !ok {
		return
	}
	name := f.text("name")
	if name == "" || t.has(rule.Key{Kind: rule.OfPipeline, Subject: name}) {
		p.say(f.line, "name: the pipeline has none, or is described twice; give each one its own")
		return
	}
	d := p.configured(name)
	if f.has("broker") {
		d.Broker = f.text("broker")
	}
	if f.has("store") {
		d.Store = f.text("store")
	}
	if f.has("labels") {
		d.Labels = f.labels("labels")
	}
	if f.has("max_processing") {
		d.MaxProcessing, _ = f.span("max_processing")
	}
	if n := f.of["limits"]; n != nil {
		p.limits(n, &d.Limits)
	}
	t.pipelines = append(t.pipelines, d)
}

// configured returns the pipeline of the configuration, or else one with the defaults.
func (p *parser) configured(name string) dedup.Pipeline {
	i := slices.IndexFunc(p.setup.Pipelines, func(c dedup.Pipeline) bool { return c.Name == name })
	if i < 0 {
		return dedup.Pipeline{Name: name, Limits: dedup.DefaultLimits()}
	}
	return p.setup.Pipelines[i]
}

// adopt adds the pipeline that a series names. With a configuration it must be there, or described by the test.
func (p *parser) adopt(in *input, t *test) {
	name := in.labels["pipeline"]
	if name == "" || t.has(rule.Key{Kind: rule.OfPipeline, Subject: name}) {
		return
	}
	d := p.configured(name)
	t.pipelines = append(t.pipelines, d)
	known := slices.ContainsFunc(p.setup.Pipelines, func(c dedup.Pipeline) bool { return c.Name == name })
	if p.setup.Pipelines != nil && !known {
		p.say(in.line, "series: the configuration has no pipeline %q; write the name of one, or describe it under pipelines", clipped(name))
	}
}

// limits reads the limits of a pipeline, as the configuration writes them.
func (p *parser) limits(n *yaml.Node, l *dedup.Limits) {
	before := len(p.problems)
	f, _ := p.group(n, "limits", "duplicate_rate", "ack_latency", "min_messages", "min_duplicates", "window")
	if n := f.of["duplicate_rate"]; n != nil {
		g, _ := p.group(n, "duplicate_rate", "warning", "severe", "emergency")
		g.number("warning", "|%|", "3%", &l.DuplicateWarning)
		g.number("severe", "|%|", "3%", &l.DuplicateSevere)
		g.number("emergency", "|%|", "3%", &l.DuplicateEmergency)
	}
	if n := f.of["ack_latency"]; n != nil {
		g, _ := p.group(n, "ack_latency", "warning", "severe")
		g.number("warning", "|s|", "500ms", &l.LatencyWarning)
		g.number("severe", "|s|", "500ms", &l.LatencySevere)
	}
	f.number("min_messages", "||", "50", &l.MinMessages)
	f.number("min_duplicates", "||", "3", &l.MinDuplicates)
	if f.has("window") {
		l.Window, _ = f.span("window")
	}
	if len(p.problems) > before {
		return
	}
	l.Check(func(field, why string) { p.say(f.line, "limits: %s: %s", field, why) })
}

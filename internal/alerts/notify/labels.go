package notify

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"dedup-dashboard/internal/alerts"
	"dedup-dashboard/internal/alerts/rule"
	"dedup-dashboard/internal/dedup"
)

// alertLabels are the labels of an alert in the formats of Prometheus: alertname is the rule, severity the tier, then what it is about,
// then the pipeline's own, which never replace one of those. They identify it, so that long names are not cut where people would read no
// further: of two that begin alike one alert would be lost.
func alertLabels(a *alerts.NotifiedAlert, tier dedup.Tier) map[string]string {
	out := labelSet(a.Labels)
	out["alertname"] = cmp.Or(clean(a.Key.Rule, maxText), "alert")
	out["severity"] = tier.String()
	out["kind"] = clean(string(a.Key.Kind), maxName)
	if a.Key.Subject != "" {
		out[labelName(string(a.Key.Kind))] = clean(a.Key.Subject, maxText)
	}
	return out
}

// labelSet makes labels fit for Prometheus: names of letters, digits and underscores, values of one line, and none that is empty. Of two
// names that become the same the first in order stays.
func labelSet(labels map[string]string) map[string]string {
	out := make(map[string]string, len(labels)+4)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		safe, text := labelName(name), clean(labels[name], maxText)
		if _, taken := out[safe]; !taken && text != "" {
			out[safe] = text
		}
	}
	return out
}

// labelName writes a name as Prometheus takes it: [a-zA-Z_][a-zA-Z0-9_]*, and not with the two underscores of internal ones.
func labelName(name string) string {
	var b strings.Builder
	for _, r := range clean(name, maxName) {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '_', r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	safe := strings.TrimLeft(b.String(), "_")
	if safe == "" || safe[0] >= '0' && safe[0] <= '9' {
		safe = "label_" + safe
	}
	return safe
}

// annotations say an alert in words; nothing identifies it by them.
func annotations(a *alerts.NotifiedAlert, n alerts.Notification) map[string]string {
	out := map[string]string{"summary": headline(a, n.At), "tier": change(a)}
	set := func(name, text string) {
		if text != "" {
			out[name] = text
		}
	}
	for _, l := range tell(a, n.At, true).lines {
		if name, ok := annotationNames()[l.name]; ok {
			set(name, l.text)
		}
	}
	set("edge", string(a.Edge))
	set("runbook_url", safeLink(a.Runbook))
	set("link", safeLink(a.Link))
	if n.Kind == alerts.NotifyFlapping {
		out["flapping"] = "true"
	}
	if n.Repeated {
		out["repeated"] = "true"
	}
	return out
}

// annotationNames are the lines of told that become annotations.
func annotationNames() map[string]string {
	return map[string]string{
		"Value": "value", "Limit": "limit", "Based on": "n", "Since": "since", "Why": "description", "Stale": "stale",
		"Likely cause": "likely_cause", "First step": "first_step",
	}
}

// fingerprint identifies an alert for all of its life: the FNV-1a hash of its key in hex, as long as Alertmanager's.
func fingerprint(k rule.Key) string {
	h := fnv.New64a()
	for _, part := range []string{k.Rule, string(k.Kind), k.Subject} {
		_, _ = h.Write([]byte(part))
		_, _ = h.Write([]byte{0xff})
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// common returns what all sets agree on.
func common(sets []map[string]string) map[string]string {
	out := map[string]string{}
	if len(sets) == 0 {
		return out
	}
	maps.Copy(out, sets[0])
	for _, set := range sets[1:] {
		maps.DeleteFunc(out, func(name, text string) bool { return set[name] != text })
	}
	return out
}

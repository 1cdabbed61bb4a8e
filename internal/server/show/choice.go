package show

import (
	"slices"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// NameChoices offer names from outside, in their order.
func NameChoices(names []string, chosen string) []templates.Choice {
	var out []templates.Choice
	for _, name := range names {
		out = append(out, templates.Choice{Value: name, Label: ShortName(name), Chosen: name == chosen})
	}
	return out
}

// TierChoices offer every tier, the worst first.
func TierChoices(chosen []dedup.Tier) []templates.Choice {
	var out []templates.Choice
	for _, t := range TiersWorstFirst() {
		out = append(out, templates.Choice{Value: t.String(), Label: t.String(), Chosen: slices.Contains(chosen, t)})
	}
	return out
}

// Crumb is one step of the way to a page; the last one leads nowhere.
func Crumb(label, href string) templates.Crumb {
	return templates.Crumb{Label: Name(label), Href: href}
}

// PipelineCrumbs lead from the overview to a pipeline.
func PipelineCrumbs(base, pipeline string) []templates.Crumb {
	return []templates.Crumb{Crumb("Overview", base+"/"), Crumb(pipeline, base+"/pipelines/"+pipeline)}
}

package show

import (
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/web/templates"
)

// Facts are what is known of something, label by label.
type Facts []templates.Fact

// Add adds a fact; what is empty is not known and left out.
func (f *Facts) Add(label, value string) {
	if value != "" {
		*f = append(*f, templates.Fact{Label: label, Value: value})
	}
}

// Problem says what is wrong and how grave it is, and what to do about it; the remedy may be empty.
func Problem(tier dedup.Tier, text, remedy string) templates.Problem {
	return templates.Problem{Tier: tier.String(), Text: templates.Sentence(text), Remedy: templates.Sentence(remedy)}
}

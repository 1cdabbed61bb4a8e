package rule

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"dedup-dashboard/internal/dedup"
)

// Resolve joins the built-in rules with those of the configuration. A custom rule whose name is new adds a rule. One with a name
// that is there already is a variant of it for the subjects that its Match covers: it overrides the fields that it gives, and is
// switched on unless it is Disabled. Of several variants that cover a subject the most specific one, the one with most labels,
// judges it, and of equals the last one; so that a rule judges a subject once.
//
// The variants of a rule stand together, the least specific first, with their Except filled in. The error names everything that is
// wrong, in words of Check.
func Resolve(defaults, custom []Rule) ([]Rule, error) {
	var names []string
	variants := make(map[string][]Rule)
	for _, r := range defaults {
		names = append(names, r.Name)
		variants[r.Name] = append(variants[r.Name], r)
	}
	var errs []error
	for _, r := range baseFirst(custom) {
		group, known := variants[r.Name]
		if !known {
			names = append(names, r.Name)
			variants[r.Name] = []Rule{r.completed()}
			continue
		}
		if base := group[0]; len(base.Match) == 0 {
			r = base.with(r)
		} else {
			r = r.completed()
		}
		same := slices.IndexFunc(group, func(o Rule) bool { return maps.Equal(o.Match, r.Match) })
		switch {
		case same < 0:
			variants[r.Name] = append(group, r)
		case len(r.Match) == 0 && isDefault(defaults, r.Name) && !group[0].replaced:
			r.replaced = true
			group[0] = r
		default:
			errs = append(errs, &Error{r.Name, r.Match, errors.New("it is given twice for the same labels; join the two, or give them other labels under match")})
		}
	}
	var out []Rule
	for _, name := range names {
		out = append(out, bySpecificity(variants[name])...)
	}
	for i := range out {
		out[i] = out[i].evidenced()
		errs = append(errs, out[i].Check())
		if slices.Contains(out[i].Findings, EveryOtherFinding) {
			out[i].others = judgingFindings(out, out[i].Name)
		}
	}
	return out, errors.Join(errs...)
}

// baseFirst puts the rules without labels first, since variants build on them.
func baseFirst(rules []Rule) []Rule {
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b Rule) int { return min(1, len(a.Match)) - min(1, len(b.Match)) })
	return sorted
}

func isDefault(defaults []Rule, name string) bool {
	return slices.ContainsFunc(defaults, func(r Rule) bool { return r.Name == name })
}

// bySpecificity sorts the variants of one rule, and excepts from each the subjects that later ones judge.
func bySpecificity(group []Rule) []Rule {
	group = slices.Clone(group)
	slices.SortStableFunc(group, func(a, b Rule) int { return len(a.Match) - len(b.Match) })
	for i := range group {
		group[i].Except = nil
		for _, later := range group[i+1:] {
			group[i].Except = append(group[i].Except, later.Match)
		}
	}
	return group
}

// judgingFindings returns the rules, other than the named one, that judge some kinds of findings. One that is switched off still
// does: its findings are not wanted, and not to be told elsewhere.
func judgingFindings(rules []Rule, but string) []Rule {
	var out []Rule
	for _, r := range rules {
		if r.kinds = r.findingKinds(); r.Name != but && len(r.kinds) > 0 {
			r.others = nil
			out = append(out, r)
		}
	}
	return out
}

// findingKinds are the kinds of findings that the rule judges.
func (r Rule) findingKinds() []string {
	if r.Measure != "" {
		return measures()[r.Measure].findings
	}
	return r.Findings
}

// completed fills in what a rule does not give.
func (r Rule) completed() Rule {
	r.Title = cmp.Or(r.Title, r.Name)
	if r.Kind == "" {
		r.Kind = OfPipeline
		if m, ok := measures()[r.Measure]; ok {
			r.Kind = m.kind
		}
	}
	if r.Unit == "" && r.Numerator != "" {
		r.Unit = dedup.Ratio
	}
	r.Unit, r.NoData = cmp.Or(r.Unit, dedup.Count), cmp.Or(r.NoData, NoDataKeep)
	r.Timing = DefaultTiming().with(r.Timing)
	return r
}

// ratioCount is how many events a ratio must rest on unless its rule says: as many as a duplicate rate.
const ratioCount = 50

// evidenced gives a ratio that does not say so the count that it must rest on: else one failure of one attempt would be 100 %.
func (r Rule) evidenced() Rule {
	if r.Numerator != "" && r.Unit == dedup.Ratio && r.MinCount == 0 {
		r.MinCount = ratioCount
	}
	return r
}

// with returns the rule with the fields that another one gives.
func (r Rule) with(o Rule) Rule {
	v := r
	v.Match, v.Disabled, v.Except = o.Match, o.Disabled, nil
	v.Title, v.Meaning, v.Step = cmp.Or(o.Title, r.Title), cmp.Or(o.Meaning, r.Meaning), cmp.Or(o.Step, r.Step)
	v.Runbook = cmp.Or(o.Runbook, r.Runbook)
	if o.Measure != "" || len(o.Findings) > 0 || o.Expr != "" || o.Numerator != "" || o.Denominator != "" {
		v.Measure, v.Findings, v.Expr, v.Numerator, v.Denominator = o.Measure, o.Findings, o.Expr, o.Numerator, o.Denominator
	}
	v.Kind, v.Unit, v.NoData, v.MinCount = cmp.Or(o.Kind, r.Kind), cmp.Or(o.Unit, r.Unit), cmp.Or(o.NoData, r.NoData), cmp.Or(o.MinCount, r.MinCount)
	v.Timing, v.Limits = r.Timing.with(o.Timing), r.Limits.with(o.Limits)
	return v
}

// A Book holds the rules by name. Several of one name are variants of one rule for subjects with other labels.
type Book struct {
	// Names are in the order of the configuration.
	Names    []string
	variants map[string][]Rule
}

// NewBook returns a book of rules that are resolved.
func NewBook(rules []Rule) Book {
	b := Book{variants: make(map[string][]Rule)}
	for _, r := range rules {
		if _, have := b.variants[r.Name]; !have {
			b.Names = append(b.Names, r.Name)
		}
		b.variants[r.Name] = append(b.variants[r.Name], r)
	}
	return b
}

// Find returns the rule of a name that holds for a subject: of its variants the last one that covers the labels, unless that one is
// switched off. A rule without a kind judges subjects of several.
func (b Book) Find(name string, kind SubjectKind, labels map[string]string) (*Rule, bool) {
	variants := b.variants[name]
	for i := len(variants) - 1; i >= 0; i-- {
		if r := &variants[i]; (r.Kind == kind || r.Kind == "") && r.Covers(labels) {
			return r, !r.Disabled
		}
	}
	return nil, false
}

package rule

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

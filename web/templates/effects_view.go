package templates

// EffectsView is what is known of the double effects of a pipeline.
type EffectsView struct {
	// Missing says that no effect check is configured.
	Missing bool
	// Ran says that a run has succeeded; State says so when there is no list to show.
	Ran     bool
	State   string
	Line    Text
	Notes   []string
	Problem *Problem
	Facts   []Fact
	Rows    []EffectRow
	// Total is how many keys there are in all; Href leads to the list of them, CSV to the same as a table.
	Total int
	Href  string
	CSV   string
}

// An EffectRow is one business key.
type EffectRow struct {
	Key   Text
	Count string
	// At is when the key was found, Found stands in its place where that is not known. Fresh keys are of the last 24 hours.
	At    Moment
	Found string
	Fresh bool
}

// EffectsPage is the list of the double effects of a pipeline.
type EffectsPage struct {
	LivePage
	Name     Text
	Pipeline string
	Effects  EffectsView
	// Newer and Older lead to the pages beside this one; empty at the ends.
	Newer string
	Older string
}

// effectExample is what to add to a pipeline that has no effect check.
func (v EffectsView) effectExample() string {
	return `effect_check:
  sql: {driver: mysql, dsn: {env: READER_DSN}}   # an account that may only SELECT; or store: the name of a store that is a table
  query: SELECT order_no, COUNT(*) AS n FROM orders GROUP BY order_no HAVING COUNT(*) > 1
  every: 15m`
}

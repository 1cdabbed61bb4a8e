package templates

// OverviewView is the first page: what is wrong, worst first.
type OverviewView struct {
	LivePage
	// Starting says that there was no round yet.
	Starting bool
	Brokers  []SourceCard
	Stores   []SourceCard
	// Calm are further stores that answer and have no problem; the page folds them into one line, CalmWord.
	Calm     []SourceCard
	CalmWord string
	Tiers    []TierCount
	Stats    []Stat
	Filter   Filter
	Columns  []Column
	Rows     []PipelineRow
	// Total counts all pipelines, Matching those that pass the filter.
	Total    int
	Matching int
	Pages    []PageLink
	// PageNote says that the page that was asked for does not exist; empty when it does.
	PageNote string
	Empty    Empty
}

// A SourceCard is one broker or store at a glance, or several that do not answer for the same reason.
type SourceCard struct {
	Kind string // broker, store, or how many: "5 stores"
	Name Text
	// Tier colours the card; Word is the state: "reachable", "unreachable", "not tried yet".
	Tier string
	Word string
	// What is the product with its version, or the preset.
	What  Text
	Facts []Fact
	// Problems are what is wrong, with what to do.
	Problems []Problem
}

// A Problem is something wrong, what was seen of it, and what to do about it.
type Problem struct {
	Tier     string
	Text     Text
	Evidence Text
	Remedy   Text
	// Href leads to what the problem is about, as Link says; empty where there is no page of it.
	Href string
	Link string
}

// A TierCount is one tile of the summary: how many pipelines have a tier, as a link to them.
type TierCount struct {
	Tier   string
	Count  int
	Href   string
	Active bool
	// Note is what the count leaves out, and how many of them somebody has acknowledged; empty where there is nothing to add.
	Note string
}

// A Stat is one headline number.
type Stat struct {
	Label string
	Value string
	Note  string
	Known bool
	// Figure is the value with its provenance.
	Figure Figure
}

// A Filter is the state of the filter form.
type Filter struct {
	Query  string
	Tiers  []Choice
	Labels []Choice
	Sorts  []Choice
	// Any says that something is filtered; Clear is the address without filters.
	Any   bool
	Clear string
}

// A Choice is one option of a form control.
type Choice struct {
	Value  string
	Label  string
	Chosen bool
	// Off is shown and cannot be chosen.
	Off bool
}

// A ChoiceGroup is some options of a select control under a heading.
type ChoiceGroup struct {
	Label   string
	Choices []Choice
}

// A Column is one column head of the overview.
type Column struct {
	Label string
	// Href sorts by the column; empty if it cannot be sorted by.
	Href string
	// Sorted is ascending, descending or empty.
	Sorted string
	Number bool
}

// A PipelineRow is one pipeline in the overview.
type PipelineRow struct {
	Name   Text
	Href   string
	Queues Text
	Tier   string
	// Possible is the tier of an interval's high end, empty when there is no doubt.
	Possible string
	// RaisedHref leads to the alert that raised the tier, RaisedLink names it; empty where figures and findings alone made it.
	RaisedHref, RaisedLink string
	// More says how many findings more there are, MoreHref leads to all of them; More is empty where there is none.
	More, MoreHref string
	// Why is shown for every tier but normal, and with it the likely cause of duplicates, where there is one.
	Why          Text
	Cause        Text
	Risk         string
	RiskDriver   string
	Duplicates   Figure
	Redeliveries string
	Spark        Spark
	Latency      Figure
	// LatencyP95 is the second line below the mean, empty where no distribution is known.
	LatencyP95  string
	DeadLetters Figure
	Processing  Figure
	NoExpiry    Figure
	// Stuck says how many markers are stuck, empty when none is; Markers leads to them.
	Stuck     string
	Markers   string
	Ready     Figure
	Unacked   Figure
	Consumers Figure
	Activity  Moment
	// Stale says that a source of this pipeline is down.
	Stale bool
}

// A PageLink is one link of the pager.
type PageLink struct {
	Label   string
	Href    string
	Current bool
}

// Empty is what is shown instead of a table: a heading and the next step.
type Empty struct {
	Heading string
	Text    string
	Href    string
	Link    string
}

package templates

import "slices"

// PipelineView is the page of one pipeline.
type PipelineView struct {
	LivePage
	Name     Text
	Tier     string
	Possible string
	Why      Text
	// RaisedHref leads to the alert that raised the tier, RaisedLink names it; empty where figures and findings alone made it.
	RaisedHref, RaisedLink string
	// More says how many findings more there are, MoreHref leads to all of them; More is empty where there is none.
	More, MoreHref string
	// Cause is the likely cause of the duplicates; empty when there is nothing to explain.
	Cause         Text
	How           How
	WhyDuplicates DuplicatesWhy
	// Alerts says what of it fires.
	Alerts AlertLine
	// Parts are the two judged measures, each with its tier and risk.
	Parts      []JudgedPart
	Risk       string
	RiskDriver string
	Identity   []Fact
	Down       []Problem
	Windows    []WindowHead
	Measures   []Measure
	// WindowsOut says which windows are not shown and why, empty when all are; Unknown is what no window knows.
	WindowsOut string
	Unknown    Unknowns
	Range      Range
	Charts     []Chart
	// ChartsMissing says why there is no history to draw; empty when there is.
	ChartsMissing string
	Track         Track
	States        []StateCount
	MarkerFacts   []Fact
	Oldest        []MarkerLine
	Undecodable   []MarkerLine
	Store         string
	// MarkersHref leads to the markers, MarkersLink says how many are stuck.
	MarkersHref string
	MarkersLink string
	Effects     EffectsView
	Queues      []DeadLetterRow
	QueuesNote  string
	Deaths      Deaths
	Routes      RouteTable
	Baseline    BaselineView
	Findings    []Problem
	// Hints are findings that colour nothing.
	Hints   []Problem
	Sources []SourceRow
	// Measure lets an operator measure the pipeline exactly.
	Measure MeasureSection
	Limits  []Fact
}

// hintWords heads the hints.
func hintWords(n int) string {
	if n == 1 {
		return "1 hint, which changes no tier"
	}
	return whole(n) + " hints, which change no tier"
}

// A JudgedPart is one headline figure, with its part in the verdict if it has one.
type JudgedPart struct {
	Label  string
	Figure Figure
	Tier   string
	Risk   string
	// Also is a second figure of the same matter and AlsoLabel its name; empty where there is none.
	Also      Figure
	AlsoLabel string
	// Link says what of the figure needs eyes, Href leads there; both empty when nothing does.
	Link string
	Href string
	// More leads to the list behind the figure, at MoreHref; both empty where there is none.
	More, MoreHref string
}

// A WindowHead is one column of the window table. Covered says how much of the window has data, empty when all has.
type WindowHead struct {
	Label   string
	Covered string
}

// A Measure is one line of the window table.
type Measure struct {
	Label string
	// Hint says what the measure means in a few words.
	Hint    string
	Figures []Figure
	// Group begins a new group of measures.
	Group bool
}

// Unknowns are the measures that are unknown in every window, folded into one Line.
type Unknowns struct {
	Line   string
	Groups []UnknownGroup
}

// An UnknownGroup are measures that are unknown for one reason; Better says how to know them.
type UnknownGroup struct {
	Names  []string
	Why    Text
	Better Text
}

// A Range is the state of the range form.
type Range struct {
	Links   []PageLink
	Earlier string
	Later   string
	Wider   string
	From    string
	To      string
	Zone    string
	Action  string
	// Scale is lin or empty; ScaleLink switches it.
	Scale     string
	ScaleLink PageLink
	Text      string
}

// A StateCount is one state of markers with its number.
type StateCount struct {
	State string
	Count Figure
	// Share of all markers, 0 to 1000.
	Share int
}

// A DeadLetterRow is one dead-letter queue.
type DeadLetterRow struct {
	// Href leads to the letters of the queue.
	Href      string
	Queue     Text
	Vhost     Text
	Type      string
	Found     Text
	Depth     Figure
	Consumers Figure
}

// A SourceRow is the health of one source.
type SourceRow struct {
	Name   Text
	Tier   string
	Word   string
	Since  Moment
	Last   Moment
	Took   string
	Missed string
	Err    Text
}

// detailed reports whether any of the markers has a detail to show.
func detailed(rows []MarkerLine) bool {
	return slices.ContainsFunc(rows, func(l MarkerLine) bool { return l.Detail.Short != "" })
}

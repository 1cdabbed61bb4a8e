package templates

// SilentView stands in for a page that needs a store which does not answer: the cause, what to do, and two ways on.
type SilentView struct {
	Frame  Frame
	Crumbs []Crumb
	Store  Text
	// Problem is the cause with what to do, Meanwhile what holds until the store answers.
	Problem   Problem
	Meanwhile string
	Again     Resend
	// Back leads to the list of the markers, or to the overview, as BackWord says.
	Back     string
	BackWord string
}

// A Resend is a request that can be sent again: a form with its fields, or a page to load if it has none.
type Resend struct {
	Action string
	Fields []Fact
}

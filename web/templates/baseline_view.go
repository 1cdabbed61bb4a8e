package templates

// A BaselineView is the acknowledged dead letters of a pipeline, and the forms that change them. It is not shown while there is
// nothing to acknowledge and nothing acknowledged.
type BaselineView struct {
	Shown bool
	// Line says what is acknowledged, by whom, when and why.
	Line Text
	// WhyNot says why this reader cannot change it; then there are no forms.
	WhyNot string
	// Acknowledge and Forget are where the forms go; empty where there is nothing to do.
	Acknowledge string
	Forget      string
	// Count is what is acknowledged by the form, Own how many of them are in queues of the pipeline alone; Button says so.
	Count  string
	Own    string
	Button string
}

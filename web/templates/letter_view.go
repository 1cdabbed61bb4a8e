package templates

// LetterView is the page of one dead letter.
type LetterView struct {
	Frame    Frame
	Self     string
	Crumbs   []Crumb
	ID       Text
	Class    string
	Word     string
	Tier     string
	Meaning  string
	Reasons  []Text
	Notes    []Problem
	Identity []Fact
	Props    []Fact
	Headers  []HeaderLine
	Deaths   []DeathLine
	Marker   LetterMarker
	Payload  PayloadView
	Act      LetterAct
	Lookup   string
	Scanned  string
}

// A HeaderLine is one header with its AMQP type.
type HeaderLine struct {
	Name  Text
	Type  string
	Value Text
	// Rule says what a requeue does with it: kept, dropped, added by the broker.
	Rule string
}

// A DeathLine is one entry of the death history.
type DeathLine struct {
	Number int
	Reason string
	Queue  Text
	Route  Text
	Count  string
	At     Moment
	Note   string
}

// A LetterMarker is what the store holds of a dead letter.
type LetterMarker struct {
	State string
	Word  string
	Href  string
	Life  Life
	Drawn bool
}

// A PayloadView is a body as the reader may see it.
type PayloadView struct {
	Size string
	Hash string
	Type string
	// Tabs choose between text, JSON and bytes.
	Tabs []Tab
	View string
	Text Text
	// Whole is the text over several lines, cut at the limit; Dump the bytes.
	Whole string
	Dump  []DumpLine
	// Masked says why it is not shown as it is; Cut how much is missing.
	Masked string
	Cut    string
	// Reveal shows the body as it is; it is audited. Download gives the bytes.
	Reveal   *RevealForm
	Revealed bool
	Download string
}

// A RevealForm asks to see a body as it is.
type RevealForm struct {
	Action string
	Fields []Fact
	Views  []Choice
}

// A LetterAct holds what can be done with one dead letter.
type LetterAct struct {
	Missing Text
	Action  string
	Fields  []Fact
	Edit    string
	// NoEdit says why it cannot be edited.
	NoEdit  string
	Parking bool
	Target  Text
	// NoDiscard and NoRestore are why the reader may not do that; empty when they may.
	NoDiscard string
	NoRestore string
}

// EditView is the form that edits one message before it is requeued.
type EditView struct {
	Frame  Frame
	Crumbs []Crumb
	ID     Text
	Action string
	Fields []Fact
	Back   string
	Error  string
	Body   string
	// Rows is how many lines the field shows.
	Rows    int
	Type    string
	Message string
	// IDRule says where the pipeline takes the id from, and so what a change of it does.
	IDRule  string
	Locked  []HeaderLine
	Headers []EditHeader
	// Spare are empty pairs for new headers.
	Spare []int
	Notes []Problem
}

// An EditHeader is a header that can be changed.
type EditHeader struct {
	Number    int
	Name      Text
	Key       string
	Value     string
	Type      string
	Sensitive bool
	// Fixed says why the value cannot be edited as text; it can only be taken away.
	Fixed  string
	Remove bool
}

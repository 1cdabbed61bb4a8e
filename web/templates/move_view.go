package templates

// MoveView is the review of a move: what will happen to each class of messages, before anything does.
type MoveView struct {
	Frame    Frame
	Crumbs   []Crumb
	Heading  string
	Sentence Text
	Facts    []Fact
	Guards   []Problem
	Blocked  bool
	// Fit plans as many messages as there is room for; nil where their number is not in the way.
	Fit *FormAgain
	// Again plans the same once more, where what blocks it may be over; nil where that does not help.
	Again   *FormAgain
	Classes []MoveClass
	Change  string
	// NoChange is why the reader may not plan again, NoClear why not with the choice to clear markers; empty when they may.
	NoChange string
	NoClear  string
	Canaries []Choice
	Rates    []Choice
	// Foretold says for which times the classes hold; empty where no consumer sees the messages.
	Foretold string
	Requeues bool
	Targets  []GroupLine
	Sample   []MoveLine
	Diff     *EditDiff
	CSV      string
	// Undo says what cannot be undone, and what can.
	Undo    []Text
	Action  string
	Button  string
	Confirm string
	Back    string
	Reason  string
	Typed   string
	Error   string
	Key     string
	Danger  bool
	// Missing says why this reader cannot start it.
	Missing Text
}

// startable reports whether this reader may start it now.
func (v MoveView) startable() bool { return v.Missing.Short == "" && !v.Blocked }

// A MoveClass is what a move does with the messages of one class.
type MoveClass struct {
	Word    string
	Tier    string
	Meaning string
	Count   int
	Name    string
	Choices []Choice
	Effect  string
	// EffectWord and EffectTier stand before Effect where the choice brings a danger; empty where it does not.
	EffectWord string
	EffectTier string
}

// A MoveLine is one message of the sample.
type MoveLine struct {
	ID     Text
	Href   string
	Key    Text
	Target Text
	Size   string
	Word   string
	Tier   string
	Effect string
}

// An EditDiff is what an edit changes.
type EditDiff struct {
	Body    []DiffLine
	Cut     string
	Headers []Fact
	// ID says what happens to the message id.
	ID Problem
}

// A DiffLine is one line of a body: kept, taken away or added.
type DiffLine struct {
	Sign string
	Text Text
}

func (l DiffLine) class() string {
	switch l.Sign {
	case "+":
		return "added"
	case "-":
		return "removed"
	default:
		return "kept"
	}
}

// JobView is a move that is being or was carried out.
type JobView struct {
	Frame    Frame
	Self     string
	Crumbs   []Crumb
	Heading  string
	State    string
	Tier     string
	Sentence Text
	Why      Text
	Running  bool
	Done     int
	Total    int
	// Unit says what Done and Total count: messages "looked at", or "tried". Least is "at least " where Done is a lower bound.
	Unit    string
	Least   string
	Percent int
	Speed   string
	Quarter string
	Counts  []JobCount
	Facts   []Fact
	Notes   []Problem
	Canary  *CanaryView
	After   *AfterView
	// AfterNote says when it will be known whether it worked; empty when it is, or never will be.
	AfterNote string
	Arrived   string
	// Clears lead to the operations that cleared markers for it, each of which can be undone.
	Clears      []string
	ClearsTitle string
	// Back is about the messages that are dead again; nil when none is known to be.
	Back     *BackView
	Failures []JobItemLine
	Controls []Choice
	Missing  Text
	Retry    string
	RetryN   int
	// NoRetry and NoResume are why the reader may not do that; empty when they may.
	NoRetry  string
	NoResume string
	Restore  string
	RestoreN string
	Audit    string
	Items    string
	CSV      string
}

// A BackView is about the messages of a job that are in their dead-letter queue again.
type BackView struct {
	Text Text
	Note Text
	// Items leads to their list, in the words See; Again plans them once more, and is empty where that cannot be.
	Items  string
	See    string
	Again  string
	Button string
	// No is why the reader may not plan them once more; empty when they may.
	No string
}

// A JobCount counts the messages that went one way.
type JobCount struct {
	Word    string
	Meaning string
	Tier    string
	Count   int
}

// A CanaryView is the verdict on the first messages.
type CanaryView struct {
	// BackBy says how those that came back were looked for.
	BackBy Text
	Tier   string
	Text   Text
	// Left is how much longer they are watched; empty when they are not.
	Left  string
	Facts []Fact
}

// An AfterView answers whether it worked.
type AfterView struct {
	At    Moment
	Asked string
	Rows  []AfterLine
	Heads []string
	Rate  []Fact
}

// An AfterLine is what became of the messages of one class.
type AfterLine struct {
	Word  string
	Tier  string
	Cells []string
	Alarm []bool
	// Hrefs lead to the messages of all classes of which that became.
	Hrefs []string
}

// A JobItemLine is one message of a job.
type JobItemLine struct {
	Number  string
	At      Moment
	ID      Text
	Lookup  string
	Target  Text
	Class   string
	Tier    string
	Outcome string
	Grade   string
	Text    Text
}

// JobItemsView lists the messages of a job.
type JobItemsView struct {
	Frame  Frame
	Crumbs []Crumb
	Rows   []JobItemLine
	Next   string
	First  string
	CSV    string
	Empty  Empty
	// All leads to all messages of the job where only some are listed; empty where all are.
	Heading string
	All     string
}

// JobsView is the list of recent jobs.
type JobsView struct {
	Frame Frame
	Self  string
	Rows  []JobLine
	Empty Empty
}

// A JobLine is one job in a list.
type JobLine struct {
	Href    string
	Title   Text
	State   string
	Tier    string
	Results string
	By      Text
	Reason  Text
	Started Moment
	Running bool
	Done    int
	Total   int
}

// A TimelineEntry is one thing that is known of an id.
type TimelineEntry struct {
	At   Moment
	Kind string
	Tier string
	Text Text
	More Text
	Href string
	Link string
}

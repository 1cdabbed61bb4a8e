package templates

// PlanView is the review page: what will happen to each marker, before anything does.
type PlanView struct {
	Frame  Frame
	Crumbs []Crumb
	// Heading and Sentence say the plan: "Clear 12 markers of store orders: 10 probably dead, 2 orphan".
	Heading  string
	Sentence Text
	Facts    []Fact
	Notes    []Problem
	// Evidence is what holds for every marker with the same verdict, said once.
	Evidence []PlanEvidence
	Items    []PlanLine
	Pages    []PageLink
	// PageNote says that the page that was asked for does not exist; empty when it does.
	PageNote string
	Shown    string
	LeftOut  []LeftLine
	// LeftSum counts what is left out by reason; empty when nothing is.
	LeftSum string
	// Instead offers to clear instead of setting an expiry; nil where that is no choice.
	Instead *ClearInstead
	// Action carries the plan out; Button words it. Confirm must be typed when it is not empty.
	Action  string
	Button  string
	Confirm string
	Back    string
	// Reason and Typed are what was entered before a mistake, Error says which.
	Reason string
	Typed  string
	Error  string
	// Key makes a second click carry nothing out twice.
	Key string
}

// A PlanEvidence is what holds for all markers of a plan with one verdict.
type PlanEvidence struct {
	Verdict string
	Count   int
	Reasons []Text
}

// A PlanLine is one marker of a plan as it was seen.
type PlanLine struct {
	Number  int
	Line    MarkerLine
	State   string
	Seen    string
	Reasons []Text
	Effect  Text
}

// A ClearInstead offers to clear markers at once that would else wait for their expiry.
type ClearInstead struct {
	Action string
	Store  string
	Sels   []string
	Text   string
	Button string
}

// A LeftLine is a marker that a plan does not touch.
type LeftLine struct {
	ID  Text
	Why Text
}

// OperationView is a plan that is being or was carried out.
type OperationView struct {
	Frame    Frame
	Self     string
	Crumbs   []Crumb
	Heading  string
	Sentence Text
	Running  bool
	Done     int
	Total    int
	Facts    []Fact
	Totals   []Total
	Notes    []Problem
	Items    []OutcomeLine
	Pages    []PageLink
	// PageNote says that the page that was asked for does not exist; empty when it does.
	PageNote string
	Undo     UndoView
	Audit    string
	// LeftSum and LeftOut are what the plan left out.
	LeftSum string
	LeftOut []LeftLine
	// NowMissing says why it is not known what is there now; empty when it is.
	NowMissing Text
	// NowAt is when what is there now was read.
	NowAt Moment
}

// A Total counts one result.
type Total struct {
	Result string
	Count  int
}

// An OutcomeLine is what became of one marker.
type OutcomeLine struct {
	Number int
	ID     Text
	Href   string
	Result string
	Text   Text
	At     Moment
	// Now is what is there at the moment: "done since 12:03:10", "no marker", "unknown"; empty while the operation runs.
	Now        string
	Restorable string
	// Word stands for a result that is not there yet.
	Word string
}

// An UndoView offers to restore what was cleared.
type UndoView struct {
	// Missing says why there is nothing to undo; empty with Action too when undoing makes no sense.
	Missing   Text
	Action    string
	Store     string
	Operation string
	Until     string
	Count     int
	// Undone leads to the operation that restored.
	Undone string
}

// OperationsView is the list of recent operations.
type OperationsView struct {
	Frame   Frame
	Missing Text
	Rows    []OperationLine
	Empty   Empty
}

// An OperationLine is one operation in the list.
type OperationLine struct {
	Href    string
	Title   Text
	By      Text
	Reason  Text
	Started Moment
	Word    string
	Tier    string
	Results string
}

// AuditView is the record of every action.
type AuditView struct {
	Frame Frame
	// Chain says whether the chain of hashes is whole.
	Chain Problem
	// Proxy says that addresses are those of a proxy; empty where they are not.
	Proxy  Problem
	Filter AuditFilter
	Rows   []AuditLine
	// Whole says that every entry is shown, not one row for each action; Acts and Other lead to the two views.
	Whole  bool
	Acts   string
	Other  string
	Older  string
	Newest string
	Empty  Empty
}

func (v AuditView) tableLabel() string {
	if v.Whole {
		return "Table of entries, newest first"
	}
	return "Table of actions, newest first"
}

// An AuditFilter is the state of the filter form.
type AuditFilter struct {
	Stores    []Choice
	Key       string
	Operation string
	Pipelines []Choice
	Queue     string
	// Queues are suggested; one that is gone can be typed.
	Queues   []string
	Who      string
	From     string
	To       string
	Actions  []ChoiceGroup
	Outcomes []Choice
	// View is kept as a hidden field; empty for the default.
	View  string
	Any   bool
	Clear string
}

// An AuditLine is one entry.
type AuditLine struct {
	Number string
	At     Moment
	Phase  string
	Tier   string
	Who    Text
	Role   string
	From   string
	What   string
	Target Text
	// TargetHref leads to the marker that the target is; empty where it is none, or has no page.
	TargetHref string
	// Markers are those of an operation, each with its page where it has one; MoreMarkers says that there are others.
	Markers     []Crumb
	MoreMarkers bool
	Detail      Text
	// Href leads to the operation, or to all entries of it, as Link says; empty where there is none.
	Href string
	Link string
	// Trail leads to every entry of an action; empty for a single entry.
	Trail string
}

package templates

// DeadLettersView is the list of every pipeline that has dead-letter queues, worst first.
type DeadLettersView struct {
	LivePage
	// Sum says in one sentence how many dead letters there are.
	Sum  string
	Rows []DeadPipeline
	// Dated and Reasoned say that the oldest and the reasons are known of some.
	Dated    bool
	Reasoned bool
	// Deaths are the deaths by reason of a whole broker; empty where no broker tells.
	Deaths Deaths
	// Quiet are the pipelines whose dead-letter queues are empty; Without those that have none.
	Quiet   []Crumb
	Without []Crumb
	Empty   Empty
}

// A DeadPipeline is one pipeline with its dead-letter queues.
type DeadPipeline struct {
	Name  Text
	Href  string
	Depth Figure
	// Fresh says how many are new, where some were acknowledged.
	Fresh  string
	Inflow Figure
	// Oldest is the age of the oldest that the last look found; empty while nobody has looked.
	Oldest string
	Queues []DeadQueueLine
	// Lost says that messages which die there are lost, and why; empty where they reach a queue.
	Lost Text
	// Reasons counts by reason where that is known: "rejected 812, expired 40".
	Reasons string
}

// A DeadQueueLine is one dead-letter queue in a list.
type DeadQueueLine struct {
	Name  Text
	Href  string
	Depth Figure
	// Shared says who else has messages there; empty where nobody has.
	Shared Text
	// Job leads to the job that is moving its messages now; empty when there is none.
	Job string
}

// DeadQueueView is the page of one dead-letter queue, or of its parking queue.
type DeadQueueView struct {
	LivePage
	Crumbs  []Crumb
	Name    Text
	Kind    string
	Parking bool
	// Other leads from the dead-letter queue to its parking queue and back; empty when there is none.
	Other     string
	OtherWord string
	Queues    []Tab
	Facts     []Fact
	Depth     Figure
	Notes     []Problem
	// NoQueue says that there is no such queue, in place of its number of messages; empty where there is one.
	NoQueue string
	// Job leads to the job that is moving its messages now; empty when there is none.
	Job     string
	Look    LookForm
	Scan    *ScanView
	Whole   WholeForm
	Missing Text
}

// NoDeadQueueView is the page of the dead letters of a pipeline that has no dead-letter queue.
type NoDeadQueueView struct {
	Frame   Frame
	Crumbs  []Crumb
	Name    Text
	Problem Problem
	Routes  RouteTable
	// Pipeline leads to the page of the pipeline.
	Pipeline string
}

// A LookForm offers to look at the head of a queue.
type LookForm struct {
	Action string
	Queue  string
	// Parking sends the look to the parking queue.
	Parking bool
	// Refused says why it must not be looked at; Missing why this reader cannot.
	Refused Text
	Missing Text
	// Effects are what the look will do to the queue.
	Effects []Text
	Limits  []Choice
	// Again words the button of a second look.
	Again bool
}

// A WholeForm offers to move everything, where single messages cannot be picked.
type WholeForm struct {
	Action string
	Queue  string
	Name   string
	// Why says why only the whole queue can be moved; empty when messages can be picked.
	Why Text
	// Buttons are what it offers; none when nothing can be moved, and Missing says why.
	Buttons []Choice
	Missing Text
	// Denied is why the reader may press none of them; empty when they may. First offers the first messages then, in the words FirstWord.
	Denied    string
	First     string
	FirstWord string
}

// A ScanView is what a look found.
type ScanView struct {
	// Sentence says how much was looked at, when and by whom; Short why it was less than was asked for.
	Sentence string
	Short    Text
	Notes    []Problem
	Classes  []ClassTile
	By       []Tab
	GroupBy  string
	Groups   []GroupLine
	// MoreGroups counts the groups that are not shown.
	MoreGroups int
	Filter     LetterFilter
	Listed     string
	Rows       []LetterLine
	Pages      []PageLink
	PageNote   string
	Empty      Empty
	Act        LetterBar
	CSV        string
	// NDJSON is the address of the whole letters, NDJSONText says how much of them it shows.
	NDJSON     string
	NDJSONText string
}

// A ClassTile is what a requeue would do to some messages: how many, and what it means.
type ClassTile struct {
	Word    string
	Tier    string
	Meaning string
	Count   int
	Href    string
	On      bool
}

// A GroupLine is the messages that share a value.
type GroupLine struct {
	Value   Text
	Href    string
	Count   int
	Percent string
	// Share is the part of the whole, 0 to 1000.
	Share   int
	Bytes   string
	First   Moment
	Last    Moment
	Classes []ClassCount
	On      bool
}

// A ClassCount counts the messages of a class.
type ClassCount struct {
	Word  string
	Tier  string
	Count int
}

// A LetterFilter is the state of the filter form.
type LetterFilter struct {
	Action string
	Hidden []Fact
	Text   string
	Error  string
	// Read says how the times of the filter were read.
	Read  []Fact
	Clear string
	Any   bool
	// Help lists what can be written, with what it does.
	Help []Fact
}

// A LetterLine is one dead letter in a list.
type LetterLine struct {
	Ref    string
	Href   string
	ID     Text
	NoID   string
	Type   Text
	Reason Text
	Source Text
	Died   Moment
	// FirstDied is set where it died before.
	FirstDied Moment
	Exception Text
	Failure   Text
	Size      string
	Requeues  string
	Marker    string
	MarkerTo  string
	Word      string
	Tier      string
	Why       Text
}

// A LetterBar holds what can be done with the listed messages.
type LetterBar struct {
	Missing Text
	Action  string
	Hidden  []Fact
	// Selective offers to pick messages; Parking offers to restore instead of requeue and discard.
	Selective bool
	Parking   bool
	Matching  int
	Filtered  bool
	// Targets are the queues to choose from where messages do not say which one they came from.
	Targets []Choice
	// NoAll, NoDiscard and NoRestore are why the reader may not do that; empty when they may. First offers the first messages instead of all;
	// 0 does not.
	NoAll     string
	NoDiscard string
	NoRestore string
	First     int
}

// able reports whether the list has controls.
func (b LetterBar) able() bool { return b.Missing.Short == "" && b.Selective }

// first names the messages that are offered instead of all.
func (b LetterBar) first() string {
	switch {
	case b.First < b.Matching:
		return "the first " + whole(b.First)
	case b.First == 1:
		return "the one looked at"
	default:
		return "the " + whole(b.First) + " looked at"
	}
}

func (b LetterBar) all() string {
	switch {
	case b.Matching == 1:
		return "the only one"
	case b.Filtered:
		return "all " + whole(b.Matching) + " that match"
	default:
		return "all " + whole(b.Matching)
	}
}

// width is the share of a group as a percentage of its bar.
func (g GroupLine) width() string { return px(float64(g.Share)/10) + "%" }

// verbs is what can be done with the listed messages.
func (b LetterBar) verbs() string {
	if b.Parking {
		return "Restore"
	}
	return "Requeue or discard"
}

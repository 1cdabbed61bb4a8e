package templates

// MarkerView is the page of one marker, read live.
type MarkerView struct {
	Frame  Frame
	Crumbs []Crumb
	ID     Text
	State  string
	// Gone says that there is no such marker, GoneWord whether there was one: "gone" or "none".
	Gone     bool
	GoneWord string
	Verdict  string
	// Reasons are the evidence of the verdict.
	Reasons []Text
	Life    Life
	Facts   []Fact
	Detail  Text
	Value   ValueView
	Retry   []Fact
	History []AuditLine
	Notes   []Problem
	Act     MarkerAct
	// Lookup leads to the same id in every store.
	Lookup string
	Self   string
	ReadAt Moment
}

// A ValueView is the value of a marker as the reader may see it.
type ValueView struct {
	Type string
	Size string
	Hash string
	// HashName says what kind of hash that is.
	HashName string
	// Masked says why Text and Dump are missing; empty when they are there.
	Masked string
	// Text is the value as text, cut; Dump its bytes.
	Text Text
	Dump []DumpLine
	// Cut says how much is not shown.
	Cut string
}

// A DumpLine is sixteen bytes of a value.
type DumpLine struct {
	Offset string
	Hex    string
	Text   string
}

// A MarkerAct holds what can be done with one marker.
type MarkerAct struct {
	Missing Text
	Action  string
	Store   string
	Sel     string
	Clear   bool
	Retry   bool
	Expiry  bool
	// TTLs are the times to live that Expiry offers.
	TTLs []Choice
	// UnderWay leads to the operation that is at this marker; the controls are absent then.
	UnderWay string
	// Why says in words why clearing is not offered: done markers, unknown ones.
	Why string
}

// LookupView is everything that the stores hold of one id or business key.
type LookupView struct {
	// Audit is the address of the audit; empty for who may not see it.
	Audit string
	Frame Frame
	Term  string
	Self  string
	At    Moment
	// Sum says in one sentence what was found.
	Sum string
	// Silent says how many stores did not answer; empty where all did.
	Silent string
	Stores []LookupStore
	// Nothing are the stores that answered and hold no such marker; NothingSum counts them.
	Nothing    []LookupStore
	NothingSum string
	Missing    Text
	// Timeline is what is known of the id beyond its markers too, the newest first; TimelineMissing says what of it is not known.
	Timeline        []TimelineEntry
	TimelineMissing Text
}

// A LookupStore is the answer of one store.
type LookupStore struct {
	Name   Text
	Scheme string
	// Word says what the store answered; Tier gives it a shape.
	Word      string
	Tier      string
	Err       Text
	Took      string
	Pipelines []Crumb
	Found     []LookupHit
}

// A LookupHit is one marker that was found.
type LookupHit struct {
	Line    MarkerLine
	State   string
	Reasons []Text
	Facts   []Fact
	History []AuditLine
}

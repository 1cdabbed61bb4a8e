package templates

// MarkersView is the page of the markers that one pipeline keeps in its store.
type MarkersView struct {
	LivePage
	Crumbs []Crumb
	Name   Text
	// Store is where the markers are, Scheme what its consumers do, in one line.
	Store  Text
	Scheme string
	// Notes say what must be known before anything below is read: the store does not answer, "0 stuck" proves nothing.
	Notes []Problem
	// Examined is how many markers the counts of the tabs are taken from.
	Examined Figure
	Tabs     []Tab
	Verdicts []Tab
	Filter   MarkerFilter
	// Heading names the list, Listed says how much of the whole it is, and Cost what a live reading has cost.
	Heading string
	Listed  string
	Cost    string
	// Meaning says what the list means for the messages: "These messages were lost".
	Meaning *Problem
	Rows    []MarkerLine
	// Judged, Counted, Owned and Detailed say which columns the table has: verdict, attempts, owner, detail.
	// VerdictsAsOf is when the verdicts were reached if they are old, because the store does not answer; else it is zero.
	VerdictsAsOf Moment

	Judged   bool
	Counted  bool
	Owned    bool
	Detailed bool
	Pages    []PageLink
	// PageNote says that the page that was asked for does not exist; empty when it does.
	PageNote string
	// Next is the address of the next page of a live reading; empty at its end.
	Next string
	// CSV is the address of the list as a table, and CSVText what its link says.
	CSV     string
	CSVText string
	Empty   Empty
	Act     ActBar
}

// A Crumb is one step of the way to a page.
type Crumb struct {
	Label Text
	Href  string
}

// A Tab is one choice among several lists, with how many there are in it.
type Tab struct {
	Label string
	Count string
	// Tier colours the tab's shape; empty for none.
	Tier   string
	Href   string
	Active bool
}

// A MarkerFilter is the state of the filter form. State and Verdict are kept as hidden fields.
type MarkerFilter struct {
	Action  string
	State   string
	Verdict string
	Query   string
	Sorts   []Choice
	Any     bool
	Clear   string
}

// A MarkerLine is one marker of a list.
type MarkerLine struct {
	// Anchor is the id of the row in the document, Sel the key as a form sends it; empty for a marker that cannot be selected.
	Anchor string
	Sel    string
	// Href leads to the marker's own page; empty for a key that is too long for an address.
	Href        string
	ID          Text
	BusinessKey Text
	Status      Text
	Verdict     string
	Why         Text
	Life        Life
	Attempts    string
	Owner       Text
	Detail      Text
	// Changed is what was done to the marker since the list was read; nil for nothing.
	Changed *MarkerChange
}

// A MarkerChange is what an operation did to a marker.
type MarkerChange struct {
	// Result is cleared or expiry set, Text when and by whom.
	Result  string
	Text    string
	Cleared bool
	// Href leads to the operation; empty for readers who may not see it.
	Href string
}

// gone reports whether the marker is not there any more.
func (l MarkerLine) gone() bool { return l.Changed != nil && l.Changed.Cleared }

// A Life is the age of a marker against its time to live.
type Life struct {
	// Age is how long the state has lasted, "≥ 5 m", or unknown; Left is what remains, or that it never expires.
	Age  string
	Left string
	// Share of the life that has passed, 0 to 1000; Drawn says that it is known.
	Share int
	Drawn bool
	// Never expires; Over is a marker that is past its expiry and still there.
	Never bool
	Over  bool
	// Full says since when and until when, for the title.
	Full string
}

// An ActBar holds what can be done with a list of markers.
type ActBar struct {
	// Missing says why nothing can be done here; the controls are absent then.
	Missing Text
	// Blocked says why the controls stand still at the moment; they are shown disabled then.
	Blocked string
	Action  string
	// Store, List, Verdict and Query are sent along: they freeze the filter.
	Store   string
	List    string
	Verdict string
	Query   string
	// Matching counts what the filter selects; Most is how many of them one plan takes.
	Matching int
	Most     int
	// Expiry offers to set an expiry, Clear to clear; Retry to clear retry counters along.
	Expiry bool
	Clear  bool
	Retry  bool
	// TTLs are the times to live that Expiry offers.
	TTLs []Choice
}

// able reports whether the list has controls.
func (a ActBar) able() bool { return a.Missing.Short == "" && (a.Clear || a.Expiry) }

// verdictLabel heads the verdict of a marker on narrow screens.
func (v MarkersView) verdictLabel() string {
	if v.VerdictsAsOf.RFC == "" {
		return "Verdict"
	}
	return "Verdict, as of " + v.VerdictsAsOf.Text
}

// all words the button that takes everything that matches.
func (a ActBar) all() string {
	switch {
	case a.Matching > a.Most:
		return "Review the first " + whole(a.Most) + " of " + whole(a.Matching) + " that match"
	case a.Matching == 1:
		return "Review the only one that matches"
	default:
		return "Review all " + whole(a.Matching) + " that match"
	}
}

// holds begins what is said once of all markers with a verdict.
func (e PlanEvidence) holds() string { return "what holds for all " + whole(e.Count) + ":" }

// width is the passed share of a life as a percentage of its bar.
func (l Life) width() string { return px(float64(l.Share)/10) + "%" }

// tier colours a life: what never ends and what has ended are worth a look.
func (l Life) tier() string {
	if l.Never || l.Over {
		return "warning"
	}
	return "normal"
}

// VerdictTier gives each verdict a shape of its own, by how sure the evidence is that nobody works on the message.
func VerdictTier(verdict string) string {
	switch verdict {
	case "orphan":
		return "severe"
	case "probably dead", "looping":
		return "warning"
	case "still working":
		return "normal"
	default:
		return "unknown"
	}
}

// resultTier gives each result of an action a shape of its own.
func resultTier(result string) string {
	switch result {
	case "cleared", "expiry set", "restored":
		return "normal"
	case "changed meanwhile", "gone":
		return "unknown"
	case "unknown outcome":
		return "severe"
	default:
		return "warning"
	}
}

package templates

// AlertsView is the list of alerts, the worst first.
type AlertsView struct {
	LivePage
	// Off says why there are no alerts at all; empty when rules are judged.
	Off string
	// Summary says in a few words what fires, for those who hear the page.
	Summary string
	Tabs    []AlertTab
	Filter  AlertFilter
	// Errors say what keeps rules from being judged.
	Errors []Problem
	Rows   []AlertRow
	// Groups are the same rows under what they are about; none where the list is sorted by a column, and Regroup leads back then.
	Groups  []AlertGroup
	Regroup string
	Columns []Column
	// Count says how many there are of how many.
	Count string
	// Newer and Older lead to the pages beside this one; empty where there is none.
	Newer, Older string
	PageNote     string
	Empty        Empty
	// Watched says what is judged.
	Watched string
	// History are the edges of the subject that the filter names, newest first; HistoryOf is empty where it names none.
	HistoryOf string
	History   AlertTimeline
	Channels  ChannelsView
	Many      AckMany
}

// AckMany is how several alerts are acknowledged at once; empty for those who may not.
type AckMany struct {
	// Choose leads to the list with boxes; with them All leads to the list with all of them ticked, and Back to the one without.
	Choose, All, Back string
	// Make acknowledges what is ticked; empty where there is nothing to tick.
	Make      string
	Durations []Choice
}

// AckedView is what became of acknowledgements of which some were refused.
type AckedView struct {
	Frame   Frame
	Heading string
	Done    []Text
	Refused []Problem
	Again   AckAgain
	// Back leads to where they came from, and BackWord says where that is.
	Back, BackWord string
}

// AckAgain acknowledges alerts that got worse as they are now; empty without any.
type AckAgain struct {
	Make, Button string
	// Tiers say of the keys at which tier they are shown.
	Keys, Tiers []string
	Note        string
	Durations   []Choice
}

// sorted says in which order the list is.
func (v AlertsView) sorted() string {
	if len(v.Groups) > 0 {
		return "by pipeline, the worst first"
	}
	return sortedBy(v.Columns)
}

// An AlertTab is one state of alerts with how many there are.
type AlertTab struct {
	Label   string
	Count   string
	Href    string
	Current bool
}

// An AlertFilter is the state of the filter form of alerts.
type AlertFilter struct {
	// State is kept by the form; empty for all that need eyes.
	State     string
	Tiers     []Choice
	Pipelines []Choice
	Rules     []Choice
	Any       bool
	Clear     string
}

// An AlertGroup is the alerts of one pipeline, broker, store or queue, the worst first.
type AlertGroup struct {
	Name Text
	// Href leads to what the alerts are about; empty where it has no page.
	Href string
	// Tier is the worst that fires, Pending the worst that is reached where none does, else empty.
	Tier, Pending string
	// Count is how many there are, on all pages.
	Count string
	Rows  []AlertRow
}

// An AlertRow is one alert at a glance.
type AlertRow struct {
	// Key is that of the alert where it can be ticked, else empty; Shown says with the form at which tier the list shows it, and Ticked
	// that it is ticked.
	Key     string
	Shown   string
	Ticked  bool
	Href    string
	Title   Text
	Subject Text
	// SubjectHref leads to what the alert is about; empty where it has no page.
	SubjectHref string
	// InGroup says that the subject stands above, in the heading of the group.
	InGroup bool
	// Tier colours the chip and Word is what it says: severe, or "unknown (was severe)"; empty where all there is to say is Pending.
	Tier, Word string
	// Pending is a tier that is reached and does not fire yet; empty where there is none.
	Pending string
	// Notes are further states in a word: recovering, flapping.
	Notes []string
	// Since says since when, in SinceWord: firing, pending or unknown.
	SinceWord string
	Since     Moment
	// For is how long that is ago.
	For string
	// TierFor says for how long it fires at its tier, "emergency for 1 m", and TierSince since when; both are empty where that is Since.
	TierFor   string
	TierSince Moment
	// Why is value against limit in one line, or why there is none; Before what was known before that.
	Why, Before Text
	// Held says why the tier stands although the value reaches it no longer; empty while it does.
	Held        Text
	Cause, Step Text
	// Steps lead to where the step is done.
	Steps []PageLink
	// Folded says how many alerts cannot be told because of this one, FoldedHref leads to them; empty where none is.
	Folded, FoldedHref string
	// Acked and Silenced say by whom and until when; empty where nobody did.
	Acked, Silenced Text
}

// attended reports whether somebody acknowledged or silenced the alert.
func (r AlertRow) attended() bool { return r.Acked.Short != "" || r.Silenced.Short != "" }

// AlertView is one alert: what it says, why, and what to do.
type AlertView struct {
	LivePage
	Crumbs []Crumb
	Row    AlertRow
	// Trouble says that what it rests on cannot be told, Evidence what was seen.
	Trouble  *Problem
	Evidence []Text
	Facts    []Fact
	Meaning  Text
	// Runbook is an address, RunbookText how it is shown; a page of ours is no link.
	Runbook     string
	RunbookText Text
	Limits      []Fact
	// Query is the PromQL of the rule; empty where it has none.
	Query []AlertQuery
	// Rule says that the rule is gone or switched off; empty while it is judged.
	RuleNote    Text
	Evaluations []AlertEvaluation
	Timeline    AlertTimeline
	Ack         AckForm
	// Silence leads to the form of a silence for this alert; empty where nobody may. SilencedBy are those that cover it.
	Silence    string
	SilencedBy []SilenceRow
}

// An AlertQuery is one query of a rule.
type AlertQuery struct {
	Label string
	Text  string
}

// An AlertEvaluation is one evaluation of a rule on one subject, or several in a row that came to the same.
type AlertEvaluation struct {
	At Moment
	// From is the first of several, and Times how many they are; both are empty of one alone.
	From   Moment
	Times  string
	Value  string
	N      string
	Enters string
	Holds  string
	// State is what the alert was after it, and Tier its tier.
	State string
	Tier  string
	// Why says why there was nothing to judge.
	Why Text
}

// An AlertTimeline is what happened to alerts, newest first.
type AlertTimeline struct {
	Entries []TimelineEntry
	// Note says what the list leaves out, or why there is none.
	Note string
}

// An AckForm acknowledges an alert or takes that back. WhyNot says why this reader cannot.
type AckForm struct {
	Key string
	// Tier is the one at which the page shows the alert.
	Tier      string
	Line      Text
	Make      string
	Back      string
	Durations []Choice
	WhyNot    string
}

// ChannelsView is how the channels of notifications fare. It is not shown where nothing is told to anybody.
type ChannelsView struct {
	Shown bool
	Rows  []ChannelRow
	// Missing says why nothing can be told of them.
	Missing Text
	// Test is where a message for trial is asked for; empty where this reader may not.
	Test string
	Note string
}

// A ChannelRow is one channel.
type ChannelRow struct {
	// Raw is the name as a form sends it.
	Raw     string
	Name    Text
	Kind    string
	Tier    string
	Word    string
	Waiting string
	Oldest  Moment
	Success Moment
	Err     Text
	ErrAt   Moment
	// Faults are those of its receivers that take nothing while others do.
	Faults []ChannelFault
}

// refusals are what the cell of what was refused says.
func (c ChannelRow) refusals() []string {
	texts := []string{c.Err.Short}
	for _, f := range c.Faults {
		texts = append(texts, f.Receiver.Short)
	}
	return texts
}

// A ChannelFault says since when a receiver takes nothing, and why.
type ChannelFault struct {
	Receiver Text
	Since    Moment
	Text     Text
}

// An AlertLine is what a page of something else says of its alerts; not shown where none fires or is pending.
type AlertLine struct {
	Tier string
	Text Text
	Href string
	Link string
}

// SilencesView is the list of silences.
type SilencesView struct {
	Frame                  Frame
	Off                    string
	Active, Coming, Ended  []SilenceRow
	New                    string
	WhyNot                 string
	EndedNote, EmptyActive string
}

// A SilenceRow is one silence.
type SilenceRow struct {
	ID       Text
	Matchers []Text
	Author   Text
	Reason   Text
	Starts   Moment
	Ends     Moment
	// Soon says that it ends so soon that people are reminded of it.
	Soon string
	// Covers says how many alerts it keeps quiet now.
	Covers string
	// Expire ends it; empty where this reader may not, or where it has ended.
	Expire string
	// EndedBy is who ended it before its time, where that is known.
	EndedBy Text
}

// SilenceFormView is the form of a new silence, with what it would cover.
type SilenceFormView struct {
	Frame Frame
	Off   string
	// Preview is where the form asks what it would cover, Make where it is made; Make is empty where this reader may not, and until it
	// was asked what these very fields cover. Seen are their marks.
	Preview string
	Make    string
	Seen    string
	WhyNot  string
	Rows    []MatcherRow
	// Labels are offered for the names of labels.
	// Given are the labels that every dashboard gives, in words; Labels those and the ones of pipelines.
	Given     string
	Labels    []string
	Durations []Choice
	Until     string
	Zone      string
	Reason    string
	// Emergency says that emergencies are silenced too.
	Emergency bool
	// Error says what is wrong with what was filled in.
	Error Text
	// Asked says that it was asked what it would cover.
	Asked    bool
	Coverage SilenceCoverage
	// Unseen says that it was not made because nobody saw yet what it covers.
	Unseen string
}

// A MatcherRow is one matcher in the form.
type MatcherRow struct {
	Number string
	Label  string
	Value  string
	Ops    []Choice
}

// A SilenceCoverage is what a silence would cover now.
type SilenceCoverage struct {
	Line     string
	Warning  Text
	Alerts   []AlertRow
	Subjects []Text
	// More says how many subjects are not listed.
	More string
}

// makeWord is on the button that makes the silence.
func (v SilenceFormView) makeWord() string {
	if v.Coverage.Warning.Short != "" {
		return "Silence it nevertheless"
	}
	return "Silence"
}

// previewID is the id of the heading of the preview: the answer to which the forms lead, unless something is wrong.
func (v SilenceFormView) previewID() string {
	if v.Error.Short != "" {
		return "preview-title"
	}
	return "answer"
}

// RulesView is the list of all rules of alerts.
type RulesView struct {
	Frame Frame
	// Off says why there are none; empty when rules are judged.
	Off     string
	Watched string
	Rows    []RuleRow
}

// A RuleRow is one rule, or a variant of one for subjects with some labels.
type RuleRow struct {
	Title, Name Text
	// Judges says of what kind its subjects are.
	Judges string
	// Match are the labels that it holds for, none where it holds for all.
	Match   []Text
	Meaning Text
	// Limits are by tier, or where they come from.
	Limits Text
	// For says how long a tier takes to fire, by tier where they differ; Keep how long it takes to fall.
	For, Keep string
	Off       bool
	// Firing and Pending count alerts of it, empty where there is none; Alerts leads to them.
	Firing, Pending, Alerts string
	// Runbook is where to read more; empty where there is no such page.
	Runbook string
}

// now is what the rule has to say now; empty where there is nothing.
func (r RuleRow) now() string {
	if r.Off {
		return "off"
	}
	return r.Firing + r.Pending
}

package marker

import (
	"fmt"
	"strconv"
	"strings"

	"dedup-dashboard/internal/admin/marker"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// listHeading names a list of markers.
func listHeading(list marker.List) string {
	switch list {
	case marker.ProcessingList:
		return "Processing"
	case marker.FailedList:
		return "Failed"
	case marker.PermanentList:
		return "Without expiry"
	case marker.GaveUpList:
		return "Given up after too many failures"
	case doneList:
		return "Done"
	case presentList:
		return "Present"
	default:
		return "Could not be decoded"
	}
}

// tabName is the word of a list on its tab.
func tabName(list marker.List) string {
	switch list {
	case marker.PermanentList:
		return "no expiry"
	case marker.GaveUpList:
		return "gave up"
	default:
		return string(list)
	}
}

func (m markersPage) tabs() []templates.Tab {
	var tabs []templates.Tab
	for _, name := range markerLists() {
		if !m.shows(name) {
			continue
		}
		link := markersQuery{state: name, text: m.q.text}
		t := templates.Tab{Label: tabName(name), Count: "unknown", Href: link.address(m.path), Active: name == m.q.state}
		if n := m.total(name); n >= 0 {
			t.Count = templates.Number(n)
			if n > 0 && (name == marker.GaveUpList || name == marker.FailedList && m.st.Scheme.OnFail == "ack") {
				t.Tier = dedup.Severe.String()
			}
		}
		tabs = append(tabs, t)
	}
	return tabs
}

func (m markersPage) verdictTabs(counts map[dedup.Verdict]int) []templates.Tab {
	total := 0
	for _, n := range counts {
		total += n
	}
	link := m.q
	link.page, link.verdict = 1, ""
	tabs := []templates.Tab{{Label: "all", Count: strconv.Itoa(total), Href: link.address(m.path), Active: m.q.verdict == ""}}
	for _, v := range dedup.Verdicts() {
		link.verdict = v
		tabs = append(tabs, templates.Tab{
			Label: string(v), Count: strconv.Itoa(counts[v]), Tier: templates.VerdictTier(string(v)), Href: link.address(m.path), Active: m.q.verdict == v,
		})
	}
	return tabs
}

func (m markersPage) filter() templates.MarkerFilter {
	plain := markersQuery{state: m.q.state, order: m.q.order}
	f := templates.MarkerFilter{
		Action: m.path, State: string(m.q.state), Verdict: string(m.q.verdict), Query: m.q.text, Any: m.q.filtered(), Clear: plain.address(m.path),
	}
	if m.q.live() {
		return f // a live reading comes in the store's own order
	}
	f.Sorts = list.Sorts(markerOrders(), m.q.order)
	return f
}

// listedText says how much of the whole a list is.
func (m markersPage) listedText(listed, matching int) string {
	if m.total(m.q.state) < 0 {
		return "unknown"
	}
	text := templates.Number(listed)
	if total := m.total(m.q.state); total > int64(listed) {
		text = fmt.Sprintf("the oldest %s of %s", text, templates.Number(total))
	}
	if m.q.filtered() {
		text = templates.Number(matching) + " of " + text + " match"
	}
	if m.st != nil && m.st.Stats.Pass != nil {
		text += ", as of the pass that ended at " + show.Moment(m.st.Stats.Pass.Ended, m.now).Text
	}
	return text
}

// notes say what must be known before the lists are read.
func (m markersPage) notes() []templates.Problem {
	var notes []templates.Problem
	if m.st == nil {
		text := "This pipeline names no store, so it has no markers to show."
		if m.p.Pipeline.Store != "" {
			text = "Nothing is known of the store yet: it has not been read."
		}
		return append(notes, show.Problem(dedup.TierUnknown, text, ""))
	}
	if show.IsLost(m.st.Health) {
		remedy := "It has not answered since the start."
		if pass := m.st.Stats.Pass; pass != nil {
			remedy = "What follows is from the last complete pass, which ended " + show.Ago(pass.Ended, m.now) + ". Live lists and actions wait until it answers."
		}
		notes = append(notes, show.Problem(dedup.Severe, show.WholeSentence("store "+m.st.Name+" cannot be read: "+show.Within(m.st.Health.Err)),
			remedy))
	}
	if m.st.Scheme.Blind != "" {
		notes = append(notes, show.Problem(dedup.Warning, "“0 stuck” proves nothing here: "+show.EndSentence(m.st.Scheme.Blind), ""))
	}
	if others := m.snap.PipelinesOf(m.st.Name); len(others) > 1 {
		notes = append(notes, show.Problem(dedup.TierUnknown, "The pipelines "+strings.Join(others, ", ")+" share this store: their markers stand in one list, and a verdict takes all of their queues into account.", ""))
	}
	if m.st.Evidence.Missing != "" && m.q.state == marker.ProcessingList {
		notes = append(notes, show.Problem(dedup.TierUnknown, "Verdicts lack their evidence: "+show.EndSentence(m.st.Evidence.Missing), ""))
	}
	return notes
}

// meaning says what the markers of a list mean for their messages.
func (m markersPage) meaning() *templates.Problem {
	if m.st == nil || m.total(m.q.state) == 0 {
		return nil
	}
	say := func(tier dedup.Tier, text, remedy string) *templates.Problem {
		return new(show.Problem(tier, text, remedy))
	}
	switch {
	case m.q.state == marker.GaveUpList:
		return say(dedup.Severe, "These messages are lost: they were acked after too many failures, and their work was not done.",
			"Find the cause, then let the producer send them again; the CSV has their ids and business keys.")
	case m.q.state == marker.FailedList && m.st.Scheme.OnFail == "ack":
		return say(dedup.Severe, "These messages are lost: this scheme acks a failed message and keeps its marker, so that copies are skipped too.",
			"Let the producer send them again after their markers are cleared; the CSV has their ids and business keys.")
	case m.q.state == marker.PermanentList:
		return say(dedup.Warning, "These markers never expire: a processing one blocks its message for ever, and the others fill the store.",
			"Clear those whose owner is dead, or set an expiry; and let consumers write marker and expiry in one command.")
	case m.q.state == unknownList:
		return say(dedup.Warning, "These records match the store's keys and cannot be decoded as this scheme's markers. They are counted and never changed.",
			"Exclude what belongs to somebody else, or correct the preset.")
	default:
		return nil
	}
}

func (m markersPage) empty(listed int) templates.Empty {
	switch {
	case m.st == nil || m.st.Stats.Pass == nil:
		return templates.Empty{Heading: "No markers known yet", Text: "They are shown after the first complete pass over the store."}
	case m.st.Stats.Pass.Unfit():
		return templates.Empty{Heading: "No markers known", Text: show.Capital(show.UnfitText(m.st.Stats.Pass)) + ": correct the setting id of the store. The command dashboard check names a key."}
	case listed > 0:
		return templates.Empty{Heading: "No marker matches this filter", Text: show.Counted(listed, "marker") + " without it.", Href: m.filter().Clear, Link: "Show all of them"}
	case m.q.state == marker.ProcessingList:
		if n := m.st.Stats.Pass.States[dedup.StateUnknown]; n > 0 {
			return templates.Empty{Heading: "Nothing is known to be in progress", Text: show.Counted(n, "marker") + " could not be decoded, and each of them may be in progress or stuck.",
				Href: markersQuery{state: unknownList}.address(m.path), Link: "See what could not be decoded"}
		}
		if !m.st.Health.OK {
			return templates.Empty{Heading: "Nothing was in progress at the last pass", Text: "The store cannot be read now: what has come into progress since is not known."}
		}
		text := "No marker is processing, so none can be stuck."
		if m.st.Scheme.Blind != "" {
			text = "No marker is processing. In this scheme that proves nothing, for the reason above."
		}
		return templates.Empty{Heading: "Nothing is in progress", Text: text}
	default:
		return templates.Empty{Heading: "None", Text: "The last complete pass over the store found none."}
	}
}

// actBar offers what can be done with the list.
func (m markersPage) actBar(matching int) templates.ActBar {
	a := templates.ActBar{
		Missing: templates.Sentence(m.missing), Action: m.base + "/markers/plan", Store: m.p.Pipeline.Store, List: string(m.q.state),
		Verdict: string(m.q.verdict), Query: m.q.text, Matching: matching, Most: marker.MaxPlanned,
	}
	a.Expiry = m.q.state == marker.PermanentList
	a.Clear = a.Expiry || m.q.state == marker.ProcessingList || m.q.state == marker.FailedList
	a.TTLs = ttlChoices(m.st, dedup.Processing, dedup.Done)
	a.Retry = a.Clear && m.st != nil && m.st.Scheme.GiveUp > 0
	if m.q.state == marker.GaveUpList {
		a.Clear = true // the retry counter is the marker
	}
	if m.st != nil && show.IsLost(m.st.Health) {
		a.Blocked = "Store " + show.Within(m.st.Name) + " does not answer: its markers can be changed when it does."
	}
	if matching == 0 && a.Missing.Short == "" {
		a.Clear, a.Expiry = false, false
	}
	return a
}

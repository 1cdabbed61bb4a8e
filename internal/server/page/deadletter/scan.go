package deadletter

import (
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/list"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// scanView shows what a look found, under the filter of the page.
func (d queuePage) scanView(scan deadletter.Scan) templates.ScanView {
	v := templates.ScanView{
		Sentence: scanSentence(scan, d.now), GroupBy: groupWord(d.q.by),
		Notes: scanNotes(scan), Filter: d.letterFilter(), CSV: d.exportAddress("csv", scan),
	}
	if scan.Short != "" {
		v.Short = templates.Sentence("Fewer than asked for: " + show.EndSentence(scan.Short))
	}
	v.NDJSON, v.NDJSONText = d.exportAddress("ndjson", scan), "Export as NDJSON, masked"
	if d.whole {
		v.NDJSONText = "Export with bodies as NDJSON"
	}
	if !d.q.parking {
		v.Classes = d.classTiles(scan)
	}
	d.groups(&v, scan)
	matching := d.matching(scan)
	d.rows(&v, scan, matching)
	v.Act = d.letterBar(scan, matching)
	return v
}

func scanNotes(scan deadletter.Scan) []templates.Problem {
	var notes []templates.Problem
	if scan.StoreFailed != "" {
		notes = append(notes, show.Problem(dedup.Severe, "No marker could be looked up, so that nothing can be predicted: "+show.EndSentence(scan.StoreFailed),
			"Look again when the store answers: what is unknown is left out of a requeue unless you choose otherwise."))
	}
	return notes
}

// matching are the letters of the scan that the filter selects.
func (d queuePage) matching(scan deadletter.Scan) []deadletter.Letter {
	if d.q.wrong != "" {
		return nil
	}
	var some []deadletter.Letter
	for _, l := range scan.Letters {
		if d.q.filter.Matches(l) {
			some = append(some, l)
		}
	}
	return some
}

// classTiles count the scan by class, every class, so that what is missing shows too.
func (d queuePage) classTiles(scan deadletter.Scan) []templates.ClassTile {
	var tiles []templates.ClassTile
	for _, c := range preflight.Classes() {
		filter := "class:" + string(c)
		tiles = append(tiles, templates.ClassTile{
			Word: letter.ClassWord(c), Tier: letter.ClassTier(c), Meaning: letter.ClassMeaning(c), Count: scan.Classes[c], Href: d.q.with(filter).address(d.path) + "#messages", On: d.q.filter.String() == filter,
		})
	}
	return tiles
}

// groups shows the letters of the scan by what they share; the filter does not narrow them, so that one can go from group to group.
func (d queuePage) groups(v *templates.ScanView, scan deadletter.Scan) {
	if len(scan.Letters) == 0 {
		return
	}
	for _, key := range deadletter.GroupKeys() {
		q := d.q
		q.by, q.page = key, 1
		v.By = append(v.By, templates.Tab{Label: strings.ToLower(groupWord(key)), Href: q.address(d.path), Active: key == d.q.by})
	}
	groups := deadletter.GroupLetters(scan.Letters, d.q.by)
	for i, g := range groups {
		if i == groupsShown {
			v.MoreGroups = len(groups) - groupsShown
			break
		}
		share := float64(g.Count) / float64(len(scan.Letters))
		line := templates.GroupLine{
			Value: groupValue(d.q.by, g.Value, d.now), Href: d.q.with(g.Filter).address(d.path) + "#messages", Count: g.Count, Percent: templates.Percent(share), Share: int(share * 1000),
			Bytes: templates.Bytes(float64(g.Bytes)), First: show.Moment(g.First, d.now), Last: show.Moment(g.Last, d.now), On: g.Filter == d.q.filter.String(),
		}
		if !d.q.parking {
			line.Classes = classCounts(g.Classes)
		}
		v.Groups = append(v.Groups, line)
	}
}

// groupValue is what a group shares, in words.
func groupValue(key deadletter.GroupKey, value string, now time.Time) templates.Text {
	if value == "" {
		return show.Name("none")
	}
	if key == deadletter.ByReason {
		return show.Key(letter.DeathWord(value))
	}
	if at, err := time.Parse("2006-01-02T15:04Z", value); key == deadletter.ByHour && err == nil {
		return show.Name(at.In(now.Location()).Format("2 Jan 15:04") + "–" + at.In(now.Location()).Add(time.Hour).Format("15:04"))
	}
	return show.Key(value)
}

func (d queuePage) rows(v *templates.ScanView, scan deadletter.Scan, matching []deadletter.Letter) {
	shown, at := list.Cut(matching, lettersPerPage, d.q.page)
	v.PageNote = at.Note
	for _, l := range shown {
		v.Rows = append(v.Rows, d.letterLine(scan, l))
	}
	v.Pages = at.Near(3, func(n int) string { // ten thousand messages are two hundred pages
		q := d.q
		q.page = n
		return q.address(d.path) + "#messages"
	})
	v.Listed = letter.Messages(len(matching)) + " that " + show.Plural(len(matching), "was", "were") + " looked at"
	if d.q.text != "" {
		v.Listed = templates.Number(len(matching)) + " of " + templates.Number(len(scan.Letters)) + " that were looked at match"
	}
	switch {
	case d.q.wrong != "":
		v.Listed = ""
		v.Empty = templates.Empty{Heading: "The filter cannot be read", Text: "Correct it above, or clear it.", Href: d.q.with("").address(d.path), Link: "Show all messages"}
	case len(scan.Letters) == 0:
		v.Empty = templates.Empty{Heading: "The queue was empty", Text: "Nothing was there to look at."}
	default:
		v.Empty = templates.Empty{Heading: "No message matches this filter", Text: letter.Messages(len(scan.Letters)) + " without it.", Href: d.q.with("").address(d.path), Link: "Show all of them"}
	}
}

func (d queuePage) letterLine(scan deadletter.Scan, l deadletter.Letter) templates.LetterLine {
	line := templates.LetterLine{
		Ref: l.Ref, Href: d.letterPath(scan, l.Ref), ID: show.Key(l.ID), Type: show.Name(l.MessageType()), Exception: show.Key(l.Exception),
		Size: templates.Bytes(float64(l.Size)), Died: show.Moment(l.LastDied(), d.now), Reason: show.Name("never dead-lettered"),
		Word: letter.ClassWord(l.Prediction.Class), Tier: letter.ClassTier(l.Prediction.Class),
	}
	if first := l.FirstDied(); !first.Equal(l.LastDied()) {
		line.FirstDied = show.Moment(first, d.now)
	}
	if l.ID == "" {
		line.NoID = templates.Sentence(l.NoID).Short
		if line.NoID == "" {
			line.NoID = "it has none"
		}
	}
	if len(l.Deaths) > 0 {
		line.Reason = show.Name(letter.DeathWord(l.Deaths[0].Reason))
	}
	if source, ok := l.Source(); ok {
		line.Source = show.Name(source)
	}
	line.Failure = show.Part(l.Failure)
	if l.Requeues > 0 {
		line.Requeues = "requeued " + show.HowOften(l.Requeues) + " before"
	}
	line.Marker, line.MarkerTo = letter.MarkerWord(l, scan, d.base)
	if len(l.Prediction.Reasons) > 0 {
		line.Why = templates.Sentence(show.ReadableTimes(l.Prediction.Reasons[0], d.now))
	}
	if !l.Prediction.Until.IsZero() {
		line.Word += " until " + show.Moment(l.Prediction.Until, d.now).Text
	}
	return line
}

// letterFilter is the form of the filter with its help.
func (d queuePage) letterFilter() templates.LetterFilter {
	return templates.LetterFilter{
		Action: d.path + "#messages", Hidden: d.hiddenState(), Text: d.q.text, Error: d.q.wrong, Any: d.q.text != "", Clear: d.q.with("").address(d.path) + "#messages", Read: letter.BoundFacts(d.q.filter, d.now),
		Help: []templates.Fact{
			{Label: "reason:rejected", Value: "Why it died last: rejected, expired, maxlen or delivery_limit. So with source, exchange, route, type, id and exception."},
			{Label: "class:swallowed", Value: "What a requeue would do: runs, last_attempt, may_run_twice, skipped, swallowed_perhaps, swallowed, blocks or unknown."},
			{Label: "exception:java.net*", Value: "A star at the end stands for any rest."},
			{Label: `source:"a b"`, Value: "Quotes keep spaces together."},
			{Label: "-type:audit", Value: "A minus turns a term round. Terms stand beside one another, and all must hold."},
			{Label: "header.tenant:blue", Value: "The value of a header."},
			{Label: "body:gateway", Value: "A part of the body, as far as you may see it."},
			{Label: "after:15:00", Value: "Died last at this time or later; before: the other way round. Also yesterday, today 09:30, 2h, 2026-11-21 and 2026-11-21 03:00. Times are " +
				show.ZoneWord(d.now) + " unless they end in an offset or Z."},
			{Label: "requeues>=2", Value: "Was requeued from here at least so often."},
		},
	}
}

// letterBar offers what can be done with the listed messages.
func (d queuePage) letterBar(scan deadletter.Scan, matching []deadletter.Letter) templates.LetterBar {
	b := templates.LetterBar{
		Action: d.plan, Selective: d.view.WhyNotSelective == "" && d.view.WhyNoMove == "" && d.q.wrong == "" && len(matching) > 0, Parking: d.q.parking,
		Matching: len(matching), Filtered: d.q.text != "",
		Hidden: []templates.Fact{
			{Label: "pipeline", Value: d.p.Pipeline.Name}, {Label: "queue", Value: d.q.queue}, {Label: "scan", Value: scan.ID}, {Label: "filter", Value: d.q.text},
		},
	}
	if !d.q.parking && slices.ContainsFunc(scan.Letters, func(l deadletter.Letter) bool { return l.Target == "" }) {
		b.Targets = letter.Targets(d.p)
	}
	d.restrict(&b, matching)
	switch {
	case d.missing != "":
		b.Missing = templates.Sentence(d.missing)
	case d.view.WhyNoMove != "":
		b.Missing = templates.Sentence("Nothing can be moved out of this queue: " + show.EndSentence(d.view.WhyNoMove))
	case d.view.WhyNotSelective != "":
		b.Missing = templates.Sentence("Single messages cannot be picked out of this queue: " + show.EndSentence(d.view.WhyNotSelective))
	}
	return b
}

// classCounts are the classes of a tally that occur, in the order of pages.
func classCounts(t preflight.Tally) []templates.ClassCount {
	var counts []templates.ClassCount
	for _, c := range preflight.Classes() {
		if t[c] > 0 {
			counts = append(counts, templates.ClassCount{Word: letter.ClassWord(c), Tier: letter.ClassTier(c), Count: t[c]})
		}
	}
	return counts
}

// groupWord heads the groups of a key.
func groupWord(k deadletter.GroupKey) string {
	switch k {
	case deadletter.ByReason:
		return "Reason"
	case deadletter.BySource:
		return "Source queue"
	case deadletter.ByRoute:
		return "Exchange and routing key"
	case deadletter.ByException:
		return "Exception"
	case deadletter.ByType:
		return "Type"
	default:
		return "Hour of death"
	}
}

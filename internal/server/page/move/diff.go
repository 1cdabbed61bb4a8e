package move

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// diffOf says what an edit changes of a message.
func diffOf(e move.Edit, l deadletter.Letter, p move.Plan) *templates.EditDiff {
	d := &templates.EditDiff{ID: idNote(l.ID, p)}
	add := func(label, was, is string, cleared bool) {
		if cleared {
			d.Headers = append(d.Headers, templates.Fact{Label: label, Value: orNothing(was) + " → removed"})
		} else if is != "" && was != is {
			d.Headers = append(d.Headers, templates.Fact{Label: show.ShortName(label), Value: orNothing(was) + " → " + orNothing(is)})
		}
	}
	add("Content type", l.ContentType, e.ContentType, e.NoContentType)
	add("Message id", l.MessageID, e.MessageID, e.NoMessageID)
	for _, name := range e.Remove {
		_, was := letter.HeaderText(l.Headers[name])
		d.Headers = append(d.Headers, templates.Fact{Label: show.ShortName(name), Value: orNothing(was) + " → removed"})
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		_, was := letter.HeaderText(l.Headers[name])
		d.Headers = append(d.Headers, templates.Fact{Label: show.ShortName(name), Value: orNothing(was) + " → “" + show.Key(e.Headers[name]).Short + "”"})
	}
	if e.Body != nil {
		d.Body, d.Cut = diffBodies(l.Body, e.Body)
	}
	return d
}

// diffBodies compares two bodies line by line: JSON as it reads when it is indented, since most of it is sent in one line.
func diffBodies(was, is []byte) ([]templates.DiffLine, string) {
	prettyWas, ok := letter.PrettyJSON(was)
	prettyIs, okToo := letter.PrettyJSON(is)
	switch {
	case !ok || !okToo || bytes.Equal(prettyWas, was) && bytes.Equal(prettyIs, is):
		return diffLines(string(was), string(is))
	case bytes.Equal(prettyWas, prettyIs):
		lines, cut := diffLines(string(was), string(is))
		return lines, strings.TrimSpace("Only white space changes. " + cut)
	}
	lines, cut := diffLines(string(prettyWas), string(prettyIs))
	return lines, strings.TrimSpace("Both are indented here to be compared; what is sent is the body as it was typed. " + cut)
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return "“" + show.Key(s).Short + "”"
}

func idNote(old string, p move.Plan) templates.Problem {
	id, says := "", p.IDChange
	if len(p.Letters) == 1 {
		id = p.Letters[0].ID
	}
	if says == "" {
		says = "its id is " + orNothing(id) + " now, and was " + orNothing(old)
	}
	n := show.Problem(dedup.TierUnknown, show.WholeSentence(says), "")
	switch {
	case id == "":
		n.Tier = dedup.Severe.String()
	case id != old:
		n.Tier, n.Remedy = dedup.Warning.String(), templates.Sentence("To its consumers it is another message: if the work of the old id was done, it is done a second time.")
	}
	return n
}

const (
	// diffMost bounds the lines that are compared, diffShown those that are shown.
	diffMost  = 1500
	diffShown = 300
)

// diffLines compares two texts line by line by their longest common subsequence.
func diffLines(was, is string) ([]templates.DiffLine, string) {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	cut := ""
	if len(a) > diffMost || len(b) > diffMost {
		a, b, cut = a[:min(len(a), diffMost)], b[:min(len(b), diffMost)], "Only the first "+strconv.Itoa(diffMost)+" lines were compared. "
	}
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out []templates.DiffLine
	line := func(sign, text string) {
		out = append(out, templates.DiffLine{Sign: sign, Text: show.Part(strings.ReplaceAll(text, "\t", "    "))})
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			line(" ", a[i])
			i, j = i+1, j+1
		case j >= len(b) || i < len(a) && longest[i+1][j] >= longest[i][j+1]:
			line("-", a[i])
			i++
		default:
			line("+", b[j])
			j++
		}
	}
	out = nearChanges(out)
	if len(out) > diffShown {
		out, cut = out[:diffShown], cut+"The first "+strconv.Itoa(diffShown)+" lines are shown."
	}
	return out, cut
}

// nearChanges keeps three lines around each change.
func nearChanges(all []templates.DiffLine) []templates.DiffLine {
	const around = 3
	keep := make([]bool, len(all))
	for i, l := range all {
		if l.Sign != " " {
			for k := max(0, i-around); k <= min(len(all)-1, i+around); k++ {
				keep[k] = true
			}
		}
	}
	var out []templates.DiffLine
	skipped := false
	for i, l := range all {
		if keep[i] {
			if skipped {
				out = append(out, templates.DiffLine{Sign: "…"})
			}
			out, skipped = append(out, l), false
		} else {
			skipped = true
		}
	}
	return out
}

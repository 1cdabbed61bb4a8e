package move

import (
	"cmp"
	"slices"
	"strconv"

	"dedup-dashboard/internal/admin/move"
	"dedup-dashboard/internal/admin/preflight"

	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/letter"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/web/templates"
)

// moveClasses are the classes that occur, with the choices that each offers.
func moveClasses(p move.Plan) []templates.MoveClass {
	clearable, repeats := map[preflight.Class]bool{}, map[preflight.Class]bool{}
	for _, l := range p.Letters {
		class := l.Prediction.Class
		clearable[class] = clearable[class] || l.Prediction.ClearFirst || l.Prediction.ClearDone && len(p.Request.Refs) == 1
		repeats[class] = repeats[class] || l.Prediction.MayRepeat
	}
	var rows []templates.MoveClass
	for _, class := range preflight.Classes() {
		n := p.Classes[class]
		if n == 0 {
			continue
		}
		chosen := cmp.Or(p.Choices[class], preflight.KeepAsIs)
		row := templates.MoveClass{
			Word: letter.ClassWord(class), Tier: letter.ClassTier(class), Meaning: letter.ClassMeaning(class), Count: n, Name: "choice-" + string(class), Effect: effectOf(p.Request.Do, class, chosen, repeats[class]),
		}
		if chosen == preflight.ClearFirst && (repeats[class] || class == preflight.ClassSkipped) {
			row.EffectWord, row.EffectTier = "may run a second time", letter.ClassTier(preflight.ClassMayRunTwice)
		}
		offer := []preflight.Choice{preflight.KeepAsIs}
		if p.Request.Do == admin.Requeue && (clearable[class] || chosen == preflight.ClearFirst) {
			offer = append(offer, preflight.ClearFirst)
		}
		if p.Request.Do == admin.Requeue && (p.MayLeave || chosen == preflight.LeaveOut) {
			offer = append(offer, preflight.LeaveOut)
		}
		for _, c := range offer {
			row.Choices = append(row.Choices, templates.Choice{Value: string(c), Label: choiceWord(p.Request.Do, c), Chosen: c == chosen})
		}
		rows = append(rows, row)
	}
	return append(rows, stayingRows(p)...)
}

// stayingRows are the messages that stay whatever is chosen.
func stayingRows(p move.Plan) []templates.MoveClass {
	var rows []templates.MoveClass
	for _, r := range []templates.MoveClass{
		{Word: letter.NowhereWord, Meaning: "It is not known which queue they came from, or it is none that messages may be sent to, so that they cannot be sent back.", Count: p.Nowhere},
		{Word: letter.BeyondWord, Meaning: "They are farther from the head of the queue than the most messages that this moves.", Count: p.Beyond},
		{Word: letter.WornWord, Meaning: "They were requeued three times or more, and died again.", Count: p.Worn},
	} {
		if r.Count > 0 {
			r.Tier, r.Effect, r.Choices = dedup.Warning.String(), "Stays where it is.", []templates.Choice{{Label: "stays"}}
			rows = append(rows, r)
		}
	}
	return rows
}

func canaryChoices(p move.Plan) []templates.Choice {
	sizes := []int{0, 1, 5, 10, 50, 100}
	if !slices.Contains(sizes, p.Request.Canary) {
		sizes = append(sizes, p.Request.Canary)
	}
	var list []templates.Choice
	for _, n := range sizes {
		label := letter.Messages(n) + ", then wait and judge"
		if n == 0 {
			label = "none, all at once"
		}
		list = append(list, templates.Choice{Value: strconv.Itoa(n), Label: label, Chosen: n == p.Request.Canary})
	}
	return list
}

// shownRate is a rate as the review shows it: what stands by default, and one number for no limit.
func shownRate(rate float64) float64 {
	if rate < 0 {
		return -1
	}
	return cmp.Or(rate, move.DefaultRate)
}

func rateChoices(p move.Plan) []templates.Choice {
	rates, chosen := []float64{10, 50, 100, move.DefaultRate, 2000, -1}, shownRate(p.Request.Rate)
	if !slices.Contains(rates, chosen) {
		rates = append(rates, chosen)
	}
	var list []templates.Choice
	for _, n := range rates {
		label := letter.RateText(n)
		if n < 0 {
			label = "as fast as the broker confirms"
		}
		list = append(list, templates.Choice{Value: strconv.FormatFloat(n, 'g', -1, 64), Label: label, Chosen: n == chosen})
	}
	return list
}

// sample takes the first messages of each class in turn, five in all.
func (s pages) sample(p move.Plan) []templates.MoveLine {
	const most = 5
	byClass := map[preflight.Class][]move.PlannedLetter{}
	for _, l := range p.Letters {
		if c := l.Prediction.Class; len(byClass[c]) < most {
			byClass[c] = append(byClass[c], l)
		}
	}
	var lines []templates.MoveLine
	for round := 0; round < most && len(lines) < most; round++ {
		for _, class := range preflight.Classes() {
			if round < len(byClass[class]) && len(lines) < most {
				lines = append(lines, s.sampleLine(p, byClass[class][round]))
			}
		}
	}
	return lines
}

func (s pages) sampleLine(p move.Plan, l move.PlannedLetter) templates.MoveLine {
	line := templates.MoveLine{
		ID: show.Key(cmp.Or(l.ID, "without an id")), Key: show.Key(l.BusinessKey), Target: show.Name(l.Target), Size: templates.Bytes(float64(l.Bytes)),
		Word: letter.ClassWord(l.Prediction.Class), Tier: letter.ClassTier(l.Prediction.Class), Effect: letterEffect(p.Request.Do, l),
	}
	if l.Stays != "" {
		line.Word, line.Tier = letter.NowhereWord, dedup.Warning.String()
		if l.Target != "" {
			line.Word = letter.WornWord
		}
	}
	if p.Request.Scan != "" {
		line.Href = letter.Key{Pipeline: p.Request.Pipeline, Queue: p.Request.Queue, Scan: p.Request.Scan, Ref: l.Ref}.Address(s.site.Base)
	}
	return line
}

// letterEffect says what happens to one message of a plan.
func letterEffect(do admin.Move, l move.PlannedLetter) string {
	if l.Stays != "" {
		return "Stays where it is: " + show.EndSentence(l.Stays)
	}
	return effectOf(do, l.Prediction.Class, l.Choice, l.Prediction.MayRepeat)
}

// undoWords say what can be taken back, and what cannot.
func undoWords(p move.Plan) []string {
	var words []string
	switch p.Request.Do {
	case admin.Discard:
		words = append(words, "It can be undone: the messages wait in the parking queue "+show.Within(p.Parking)+" and can be restored from there.")
	case admin.RestoreLetters:
		words = append(words, "The messages go back to their dead-letter queue; nothing consumes them there.")
	default:
		words = append(words, "A message that was sent cannot be called back. Pausing or cancelling stops those that were not sent yet; they stay where they are.")
	}
	for class, choice := range p.Choices {
		if choice == preflight.ClearFirst && p.Classes[class] > 0 {
			words = append(words, "A marker that is cleared is gone before its message is sent: if the program ends in between, the message is still in the dead-letter queue.")
			break
		}
	}
	return append(words, "Each message leaves its queue only when the broker has confirmed the new copy: a crash loses none. At worst it makes up to 256 copies, or, if the broker itself is killed, a copy of each message that had moved by then.")
}

// choiceWord is a choice as a select offers it.
func choiceWord(do admin.Move, c preflight.Choice) string {
	switch {
	case c == preflight.ClearFirst:
		return "clear the marker first"
	case c == preflight.LeaveOut:
		return "leave out"
	case do == admin.Discard:
		return "discard"
	case do == admin.RestoreLetters:
		return "restore"
	default:
		return "keep as it is"
	}
}

// effectOf says what happens to a message of a class under a choice.
// repeats is true where the marker does not tell whether the work was done.
func effectOf(do admin.Move, class preflight.Class, choice preflight.Choice, repeats bool) string {
	switch {
	case choice == preflight.LeaveOut:
		return "Stays where it is."
	case do == admin.Discard && class == preflight.ClassSkipped:
		return "Goes to the parking queue. Nothing is lost: its work was done."
	case do == admin.Discard:
		return "Goes to the parking queue; its work stays undone until it is restored and requeued."
	case do == admin.RestoreLetters:
		return "Goes back to the dead-letter queue."
	case choice == preflight.ClearFirst && class == preflight.ClassSkipped:
		return "Its done marker is cleared, then it is sent: the work is done a second time."
	case choice == preflight.ClearFirst && repeats:
		return "Its marker, which does not tell whether the work was done, is cleared, then it is sent: the work may be done a second time."
	case choice == preflight.ClearFirst:
		return "Its marker is cleared, then it is sent: the consumer does the work."
	}
	switch class {
	case preflight.ClassRuns:
		return "Is sent, and runs."
	case preflight.ClassLastAttempt:
		return "Is sent, and runs for the last time: after one more failure its consumer gives it up."
	case preflight.ClassMayRunTwice:
		return "Is sent, and runs, perhaps a second time."
	case preflight.ClassSkipped:
		return "Is sent, and acked without work. Nothing changes."
	case preflight.ClassPerhapsSwallowed:
		return "Is sent, and acked without work: if the work was not done, it is lost."
	case preflight.ClassSwallowed:
		return "Is sent, acked without work, and lost."
	case preflight.ClassBlocks:
		return "Is sent, and goes round in its queue until its marker ends."
	default:
		return "Is sent; what its consumer does cannot be foreseen."
	}
}

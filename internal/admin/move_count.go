package admin

import (
	"fmt"

	"dedup-dashboard/internal/dedup"
)

// list fills in what was looked at of the selection: with a bound only what is nearest to the head of the queue, so that what is shown is
// what is moved.
func (pl *planning) list() {
	p := &pl.plan
	p.Nowhere, p.Worn, p.Beyond, p.MayRepeat, p.Targets, p.Classes, p.Letters, p.Foretold = 0, 0, 0, 0, map[string]int{}, Tally{}, nil, map[string]Class{}
	if pl.matching == nil {
		pl.matching = pl.selected
	}
	pl.selected = pl.matching
	p.Matching = len(pl.selected)
	works := map[string]bool{}
	going := int64(0)
	for i := range pl.selected {
		if p.Most > 0 && going == p.Most {
			p.Beyond = len(pl.selected) - i
			pl.selected = pl.selected[:i] // so that guards speak of no others
			break
		}
		pl.selected[i].Prediction = pl.foretell(&pl.selected[i], going)
		pl.amongCopies(&pl.selected[i], works)
		p.ClearsDone = pl.clearsDone()
		planned := pl.planned(&pl.selected[i])
		if p.Request.Do == Requeue {
			planned.Expected = pl.expected(going)
		}
		if planned.Choice != LeaveOut && p.does(planned.Prediction.Class) {
			works[pl.line.store.fold(planned.ID)] = true
		}
		if planned.Choice != LeaveOut {
			going++
		}
		p.count(planned)
		p.note(planned)
		if len(p.Letters) < MaxMovePlanned {
			p.Letters = append(p.Letters, planned)
		}
	}
}

// amongCopies foretells a letter by the selected ones before it alone, as the job does: works has the ids of those that go to be worked on.
func (pl *planning) amongCopies(l *Letter, works map[string]bool) {
	st := pl.line.store
	if pl.plan.Request.Do != Requeue || l.ID == "" || st == nil || st.Scheme.Lock {
		return
	}
	if works[st.fold(l.ID)] {
		l.Prediction = because(ClassUnknown, anotherBefore)
	}
}

// planned says what becomes of one letter.
func (pl *planning) planned(letter *Letter) PlannedLetter {
	p := PlannedLetter{Ref: letter.Ref, ID: letter.ID, Target: letter.Target, Bytes: letter.Size, Prediction: letter.Prediction, Choice: KeepAsIs}
	if letter.Marker != nil {
		p.BusinessKey = letter.Marker.BusinessKey
	}
	switch pl.plan.Request.Do {
	case Discard:
		parking, _ := dedup.ParkingQueue(pl.line.dead.QueueRef)
		p.Target = parking.Name
	case RestoreLetters:
		p.Target = pl.line.dead.Name
	default:
		if p.Stays = stays(letter); p.Stays != "" {
			p.Choice = LeaveOut
			return p
		}
		p.Choice, _ = choiceOf(letter.Prediction, pl.plan.Choices, pl.plan.ClearsDone)
	}
	return p
}

// stays says why a letter is not requeued whatever is chosen; empty when it can be.
func stays(l *Letter) string {
	switch {
	case l.Target == "":
		return l.NoTarget
	case l.Requeues >= guardedAt:
		return fmt.Sprintf("it was requeued %d times already", l.Requeues)
	}
	return ""
}

// count adds a letter to the counts of a plan.
func (p *MovePlan) count(l PlannedLetter) {
	switch {
	case l.Stays != "" && l.Target == "":
		p.Nowhere++
		return
	case l.Stays != "":
		p.Worn++
		return
	}
	class := l.Prediction.Class
	p.Classes[class]++
	if l.Choice == LeaveOut {
		return
	}
	p.Targets[l.Target]++
	if p.Request.Do == Requeue && (l.Choice == KeepAsIs && class == ClassMayRunTwice || l.Choice == ClearFirst && (l.Prediction.MayRepeat || l.Prediction.ClearDone)) {
		p.MayRepeat++
	}
}

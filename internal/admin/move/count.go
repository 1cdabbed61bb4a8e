package move

import (
	"dedup-dashboard/internal/admin"
	"dedup-dashboard/internal/admin/deadletter"
	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
)

// list fills in what was looked at of the selection: with a bound only what is nearest to the head of the queue, so that what is shown is
// what is moved.
func (pl *planning) list() {
	p := &pl.plan
	p.Nowhere, p.Worn, p.Beyond, p.MayRepeat, p.Targets, p.Classes, p.Letters, p.Foretold = 0, 0, 0, 0, map[string]int{}, preflight.Tally{}, nil, map[string]preflight.Class{}
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
		if p.Request.Do == admin.Requeue {
			planned.Expected = pl.expected(going)
		}
		if planned.Choice != preflight.LeaveOut && p.Does(planned.Prediction.Class) {
			works[pl.line.Store.Fold(planned.ID)] = true
		}
		if planned.Choice != preflight.LeaveOut {
			going++
		}
		p.count(planned)
		p.note(planned)
		if len(p.Letters) < MaxPlanned {
			p.Letters = append(p.Letters, planned)
		}
	}
}

// amongCopies foretells a letter by the selected ones before it alone, as the job does: works has the ids of those that go to be worked on.
func (pl *planning) amongCopies(l *deadletter.Letter, works map[string]bool) {
	st := pl.line.Store
	if pl.plan.Request.Do != admin.Requeue || l.ID == "" || st == nil || st.Scheme.Lock {
		return
	}
	if works[st.Fold(l.ID)] {
		l.Prediction = preflight.Because(preflight.ClassUnknown, preflight.AnotherBefore)
	}
}

// planned says what becomes of one letter.
func (pl *planning) planned(letter *deadletter.Letter) PlannedLetter {
	p := PlannedLetter{Ref: letter.Ref, ID: letter.ID, Target: letter.Target, Bytes: letter.Size, Prediction: letter.Prediction, Choice: preflight.KeepAsIs}
	if letter.Marker != nil {
		p.BusinessKey = letter.Marker.BusinessKey
	}
	switch pl.plan.Request.Do {
	case admin.Discard:
		parking, _ := dedup.ParkingQueue(pl.line.Dead.QueueRef)
		p.Target = parking.Name
	case admin.RestoreLetters:
		p.Target = pl.line.Dead.Name
	default:
		if p.Stays = letter.Stays(); p.Stays != "" {
			p.Choice = preflight.LeaveOut
			return p
		}
		p.Choice, _ = preflight.ChoiceOf(letter.Prediction, pl.plan.Choices, pl.plan.ClearsDone)
	}
	return p
}

// count adds a letter to the counts of a plan.
func (p *Plan) count(l PlannedLetter) {
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
	if l.Choice == preflight.LeaveOut {
		return
	}
	p.Targets[l.Target]++
	if p.Request.Do == admin.Requeue && (l.Choice == preflight.KeepAsIs && class == preflight.ClassMayRunTwice || l.Choice == preflight.ClearFirst && (l.Prediction.MayRepeat || l.Prediction.ClearDone)) {
		p.MayRepeat++
	}
}

// Does reports whether the work of a message of a class is done when the plan sends it, so that its marker changes.
func (p *Plan) Does(class preflight.Class) bool {
	switch class {
	case preflight.ClassRuns, preflight.ClassLastAttempt, preflight.ClassMayRunTwice:
		return true
	}
	return preflight.ClassChoice(p.Choices, class) == preflight.ClearFirst
}

// note keeps the class of a message for its job, unless that is to do its work.
func (p *Plan) note(l PlannedLetter) {
	class := l.Prediction.Class
	if _, copied := p.Foretold[l.Ref]; copied || class == preflight.ClassRuns || class == preflight.ClassLastAttempt {
		return
	}
	p.Foretold[l.Ref] = class
}

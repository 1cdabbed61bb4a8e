package preflight

// UnsafeClasses are those whose messages a requeue does no good, or nobody knows what it does.
func UnsafeClasses() []Class {
	return []Class{ClassPerhapsSwallowed, ClassSwallowed, ClassBlocks, ClassUnknown}
}

// Chosen returns what is done with every class: what was asked for, else keeping it; where messages can be left out, those that
// a requeue does no good are.
func Chosen(asked map[Class]Choice, selective bool) map[Class]Choice {
	choices := map[Class]Choice{}
	for _, c := range Classes() {
		choices[c] = KeepAsIs
	}
	if selective {
		for _, c := range UnsafeClasses() {
			choices[c] = LeaveOut
		}
	}
	for c, choice := range asked {
		choices[c] = choice
	}
	return choices
}

// ClassChoice returns what is done with a class. A plan that was made before perhaps swallowed messages were told from swallowed ones does
// with them what it does with those.
func ClassChoice(choices map[Class]Choice, class Class) Choice {
	choice, known := choices[class]
	if !known && class == ClassPerhapsSwallowed {
		choice = choices[ClassSwallowed]
	}
	return choice
}

// ChoiceOf returns what is done with one letter, and why it is left out. done is true for a plan that
// clears the marker of done work, Plan.ClearsDone of admin/move.
func ChoiceOf(p Prediction, choices map[Class]Choice, done bool) (Choice, string) {
	choice := ClassChoice(choices, p.Class)
	switch {
	case choice == LeaveOut:
		return LeaveOut, "left out by choice: " + string(p.Class)
	case choice != ClearFirst:
		return KeepAsIs, ""
	case p.ClearFirst, p.ClearDone && done:
		return ClearFirst, ""
	case p.ClearDone:
		return LeaveOut, "its marker says that the work was done: such markers are cleared one by one, with the id typed"
	}
	return LeaveOut, "clearing its marker would not let it run"
}

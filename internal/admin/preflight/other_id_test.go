package preflight_test

import (
	"slices"
	"testing"
	"time"

	"dedup-dashboard/internal/admin/preflight"
	"dedup-dashboard/internal/dedup"
)

func TestAMarkerOfAnotherMessageNeverMakesOneSafeToDiscardNorToBeCleared(t *testing.T) {
	schemes := map[string]dedup.Scheme{"status code": statusCode(), "status name": statusName(), "nack": with(statusCode(), func(s *dedup.Scheme) { s.OnInFlight, s.OnFailed = "nack", "run" }),
		"row": with(statusCode(), func(s *dedup.Scheme) { s.Mark, s.States, s.Transactional = "after", []dedup.State{dedup.Present}, true })}
	for name, s := range schemes {
		for _, state := range slices.DeleteFunc(dedup.States(), func(st dedup.State) bool { return st == dedup.StateUnknown }) {
			for _, ends := range []time.Duration{0, -time.Hour, time.Hour} {
				for _, mayBeOwn := range []bool{false, true} {
					m := marked(state, ends)
					m.ID, m.Other = "x-abc", &dedup.OtherID{Asked: "x-ABC", MayBeOwn: mayBeOwn}
					p := preflight.Predict(s, m, preflight.LetterFacts{ID: "x-ABC", At: noon, Born: noon})
					if p.Class == preflight.ClassSkipped || p.ClearFirst || p.ClearDone || p.MayRepeat || p.Class == preflight.ClassSwallowed && mayBeOwn {
						t.Errorf("%s, %s, ends %s, may be own %t: %+v", name, state, ends, mayBeOwn, p)
					}
					if state == dedup.Done && len(s.States) > 1 && p.Class != preflight.ClassSwallowed && p.Class != preflight.ClassPerhapsSwallowed {
						t.Errorf("%s, done, ends %s: %s", name, ends, p.Class)
					}
				}
			}
		}
	}
}

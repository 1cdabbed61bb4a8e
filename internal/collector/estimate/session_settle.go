package estimate

import (
	"slices"
	"time"
)

// A settling is what remains of the deliveries of one id once those that came again are taken off.
type settling struct {
	kept []int
	// lost is a delivery whose ack was lost, -1 for none: its channel was silent when it came again after its work was done. Unsure ones are
	// of channels that may have had nothing more to do.
	// It came again as cameAs.
	lost, cameAs int
	unsure       bool
	// crashed and returned are the deliveries that came again before work was done: of channels that were closed, and of others; looped
	// are those of others that met work under way.
	crashed, returned, looped int64
	// again is true where the first of them had been delivered before the session.
	again bool
}

// inOrder are deliveries with the first one first, where traces came so late that it may seem to come after the one that followed.
func (j *joined) inOrder(at []int) []int {
	if !j.late || len(at) < 2 || !j.all[at[0]].Redelivered || j.all[at[1]].Redelivered || j.all[at[1]].At.Sub(j.all[at[0]].At) > muchLate {
		return at
	}
	at = slices.Clone(at)
	at[0], at[1] = at[1], at[0]
	return at
}

// settle takes off each delivery that came again.
func (j *joined) settle(at []int, done time.Time, isDone bool) settling {
	at = j.inOrder(at)
	s := settling{lost: -1, again: j.all[at[0]].Redelivered}
	for _, i := range at {
		if !j.all[i].Redelivered || len(s.kept) == 0 {
			if k := j.rejectedBefore(s.kept, i); k >= 0 {
				s.kept = slices.Delete(s.kept, k, k+1)
				s.returned++
			}
			s.kept = append(s.kept, i)
			continue
		}
		k, silent, sure := j.cameAgain(s.kept, i)
		gone := s.kept[k]
		s.kept = slices.Delete(s.kept, k, k+1)
		switch {
		case silent && isDone && j.all[i].At.After(done.Add(-j.soon)) && s.lost < 0 && j.mayBeLost(gone, i, done):
			s.lost, s.cameAs, s.unsure = gone, i, !sure || j.isCoarse(i, done)
		case silent:
			s.crashed++
		case len(s.kept)+int(s.crashed) > 0 && j.Scheme.OnInFlight == "nack":
			s.looped++
		default:
			s.returned++
		}
		s.kept = append(s.kept, i)
	}
	return s
}

// rejectedBefore finds the delivery that was rejected and came back as i through a retry queue, -1 for none: such a one is no copy of a
// producer. The broker delivers it as new, and its death history alone tells.
func (j *joined) rejectedBefore(kept []int, i int) int {
	return slices.IndexFunc(kept, func(k int) bool { return j.all[k].Rejections < j.all[i].Rejections && j.all[k].Queue == j.all[i].Queue })
}

// cameAgain chooses which of the deliveries that are out came again as i: one whose channel is closed rather than one that goes on.
func (j *joined) cameAgain(kept []int, i int) (k int, silent, sure bool) {
	for k, at := range kept {
		if silent, sure := j.silent(at, i); silent && sure {
			return k, true, true
		}
	}
	for k, at := range kept {
		if silent, sure := j.silent(at, i); silent {
			return k, true, sure
		}
	}
	if j.Scheme.OnInFlight == "nack" { // the copy is returned, not the one at work
		return len(kept) - 1, false, true
	}
	return 0, false, true
}

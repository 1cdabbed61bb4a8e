package estimate

import (
	"math"
	"time"
)

// unsureReach is how long before it is told that acks were lost they may have been missing: rows of closed channels are cleared away each 5 s,
// and answers that came too slowly are left out.
const unsureReach = 10 * time.Second

// clearHole is how many times as deep as chance makes it a hole is that is of lost acks, wherever it lies.
const clearHole = 3

// unsureAcks bounds the acks of the window that the broker lost from its counts and that may be of other queues. Lost acks leave a hole:
// in the readings in which they were lost, fewer messages were acked than were settled. So there are no more of them than that shows, and than
// there were duplicates beside: as many as elsewhere, unless more of them are seen right there. What clear holes lack is not what duplicates
// lack elsewhere.
func unsureAcks(steps []jointStep, r Residual, each float64) float64 {
	losses := lossesOf(steps)
	if len(losses) == 0 {
		return 0
	}
	sent, first := max(0, r.Sent), holesOf(steps, each)
	for i := range losses {
		sent += first.fill(&losses[i], losses[i].most).missing
	}
	share := min(1, (sent+deviations*math.Sqrt(sent)+1)/max(1, r.Acked))
	var all, holes, near, unseen float64
	holed := holesOf(steps, each)
	for i := range losses {
		l := &losses[i]
		all += l.most
		x, acked := besides(steps, l.told)
		expected := share * acked
		if x > expected+deviations*math.Sqrt(expected+2*each)+0.5 { // duplicates come just there
			holes += l.most
			continue
		}
		found := holed.fill(l, l.most)
		holes += max(found.missing, min(l.most, max(0, -x)))
		near += max(expected, share*found.acked)
		unseen++
	}
	if unseen == 0 {
		return all
	}
	return min(all, holes+near+deviations*math.Sqrt(near+2*each*unseen)+0.5)
}

// unsure is the most that there may be more than Acked.
func (j *Joint) unsure() float64 { return j.Unsure + j.Open }

// LastLoss is the index of the reading that last told of acks or channels that were lost and may be of these queues; 0 where none did.
func LastLoss(readings []Joint) int {
	for i := len(readings) - 1; i > 0; i-- {
		if was, is := &readings[i-1], &readings[i]; is.Closed > was.Closed || is.unsure() > was.unsure() {
			return i
		}
	}
	return 0
}

// A loss is at most so many acks that went missing in the steps from begin to end. It was told of in step told.
type loss struct {
	begin, told, end int
	most             float64
}

// lossesOf are the losses that the steps tell of. Later readings narrow one that others do not follow at once.
func lossesOf(steps []jointStep) []loss {
	var found []loss
	for i := range steps {
		before := steps[i].from.unsure()
		if steps[i].to.unsure() <= before {
			continue
		}
		l := loss{begin: i, told: i, end: i}
		for l.end+1 < len(steps) && steps[l.end+1].follows && steps[l.end+1].to.unsure() <= steps[l.end].to.unsure() {
			l.end++
		}
		l.most = max(0, steps[l.end].to.unsure()-before)
		if l.end = i; !steps[i].last {
			l.end++
		}
		for steps[l.begin].follows && steps[i].from.At.Sub(steps[l.begin-1].from.At) <= unsureReach {
			l.begin--
		}
		found = append(found, l)
	}
	return found
}

// besides is what the step in which a loss was told and its neighbours sent, and acked.
func besides(steps []jointStep, told int) (x, acked float64) {
	x, acked = steps[told].sent, steps[told].acked
	if steps[told].follows {
		x, acked = x+steps[told-1].sent, acked+steps[told-1].acked
	}
	if !steps[told].last {
		x, acked = x+steps[told+1].sent, acked+steps[told+1].acked
	}
	return x, acked
}

// holes are where fewer messages were acked than were settled. least is how deep one must be that is not of chance.
type holes struct {
	steps []jointStep
	sent  []float64
	least float64
}

// A hole is how many acks were missing somewhere, and how many there were nevertheless.
type hole struct{ missing, acked float64 }

func holesOf(steps []jointStep, each float64) holes {
	h := holes{steps: steps, sent: make([]float64, len(steps)), least: clearHole * (deviations*math.Sqrt(2*each) + 0.5)}
	for i := range steps {
		h.sent[i] = steps[i].sent
	}
	return h
}

// fill fills the holes that a loss can have left, the deepest first, so that the next loss does not find them again.
func (h *holes) fill(l *loss, most float64) (found hole) {
	for found.missing < most {
		from, to, deep := h.deepest(l.begin, l.end)
		if deep <= h.least {
			break
		}
		rest := min(deep, most-found.missing)
		found.missing += rest
		for i := from; i <= to; i++ {
			found.acked += h.steps[i].acked
			part := min(rest, max(0, -h.sent[i]))
			h.sent[i], rest = h.sent[i]+part, rest-part
		}
	}
	return found
}

// deepest is the row of steps in which most acks were missing, all taken together.
func (h *holes) deepest(begin, end int) (from, to int, deep float64) {
	first, sum := begin, 0.0
	for i := begin; i <= end; i++ {
		if sum <= 0 {
			first, sum = i, 0
		}
		if sum -= h.sent[i]; sum > deep {
			from, to, deep = first, i, sum
		}
	}
	return from, to, deep
}

package estimate

import "math"

// unsureAcks bounds the acks of the window that the broker lost from its counts and that may be of other queues. Lost acks leave a hole:
// in the reading in which they were lost, fewer messages were acked than were settled. So there are no more of them than that shows, and than
// there were duplicates beside: as many as elsewhere, unless more of them are seen right there.
func unsureAcks(steps []jointStep, r Residual, each float64) float64 {
	var all, holes, near, losses float64
	sent := max(0, r.Sent)
	share := min(1, (sent+deviations*math.Sqrt(sent)+1)/max(1, r.Acked))
	for i := range steps {
		before := steps[i].from.unsure()
		if steps[i].to.unsure() <= before {
			continue
		}
		last := i // of the readings that narrow this loss
		for last+1 < len(steps) && steps[last+1].follows && steps[last+1].to.unsure() <= steps[last].to.unsure() {
			last++
		}
		most := max(0, steps[last].to.unsure()-before)
		x, acked := steps[i].sent, steps[i].acked
		if steps[i].follows {
			x, acked = x+steps[i-1].sent, acked+steps[i-1].acked
		}
		if !steps[i].last {
			x, acked = x+steps[i+1].sent, acked+steps[i+1].acked
		}
		expected := share * acked
		if x > expected+deviations*math.Sqrt(expected+2*each)+0.5 { // duplicates come just there
			holes += most
			all += most
			continue
		}
		all += most
		holes += min(most, max(0, -x))
		near += expected
		losses++
	}
	if losses == 0 {
		return all
	}
	return min(all, holes+near+deviations*math.Sqrt(near+2*each*losses)+0.5)
}

// unsure is the most that there may be more than Acked.
func (j *Joint) unsure() float64 { return j.Unsure + j.Open }

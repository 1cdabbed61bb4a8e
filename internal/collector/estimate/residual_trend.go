package estimate

import "time"

const (
	// atOnce is how many acks may be on their way on average for no trend to be looked for: there is none of what is not there.
	atOnce = 0.25
	// unackedLate is how late it may be known how many messages are unacked.
	unackedLate = 15 * time.Second
)

// trend bounds how far the number of those that wait for their ack fell and rose, as it does where traffic begins or ends and acks come long
// after their markers. Messages that were delivered and not acked are unacked, rejected or back in their queue: that they become fewer shows that
// fewer are unacked. That they become more may have other reasons, so that it counts up to what is unacked in the end.
func trend(steps []jointStep, last float64) (fell, rose float64) {
	for i := 0; i < len(steps); {
		j, least := i, steps[i].from.out()
		for ; ; j++ {
			least = min(least, steps[j].to.out())
			if steps[j].last {
				break
			}
		}
		end := steps[j].to
		late := end.out()
		for k := j; k >= i && end.At.Sub(steps[k].to.At) <= unackedLate; k-- {
			late = min(late, steps[k].from.out())
		}
		fell += steps[i].from.out() - least
		up := end.out() - least
		if j == len(steps)-1 {
			up = min(up, last+end.out()-late)
		}
		rose += up
		i = j + 1
	}
	return fell, rose
}

// out are the messages that were delivered and not acked.
func (j *Joint) out() float64 { return j.Delivered - j.Redelivered - j.Acked }

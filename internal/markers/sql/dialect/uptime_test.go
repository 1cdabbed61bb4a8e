package dialect

import (
	"testing"
	"time"
)

func TestOnlyAnUptimeThatFallsBehindOurClockTellsOfARestart(t *testing.T) {
	const s = time.Second
	began := time.Now()
	at := func(lasted, asked, told time.Duration) Uptime {
		return Uptime{lasted, began.Add(asked), began.Add(told)}
	}
	for name, c := range map[string]struct {
		before, now Uptime
		want        bool
	}{
		"the next reading of one process":               {at(100*s, 0, 0), at(115*s, 15*s, 15*s), false},
		"whole seconds hide up to two":                  {at(100*s, 0, 0), at(113*s, 15*s, 15*s), false},
		"a process that began since":                    {at(100*s, 0, 0), at(2*s, 15*s, 15*s), true},
		"one that began at once, read long after":       {at(3*s, 0, 0), at(3600*s, 3610*s, 3610*s), true},
		"an earlier answer that came late":              {at(104*s, 0, 4*s), at(105*s, 5*s, 5*s), false},
		"a later answer that came late, read at first":  {at(100*s, 0, 0), at(105*s, 5*s, 60*s), false},
		"a later answer that came late, read at last":   {at(100*s, 0, 0), at(160*s, 5*s, 60*s), false},
		"a restart while the later answer was awaited":  {at(100*s, 0, 0), at(1*s, 5*s, 60*s), true},
		"readings that arrive in the order of neither":  {at(105*s, 5*s, 5*s), at(100*s, 0, 9*s), false},
		"a restart behind an earlier answer that hangs": {at(100*s, 0, 60*s), at(5*s, 61*s, 61*s), true},
	} {
		if got := c.now.RestartedSince(c.before); got != c.want {
			t.Errorf("%s: restarted %t, want %t", name, got, c.want)
		}
	}
}

package sample

import (
	"testing"
)

func TestDeliveriesThatDiedAskingAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		gain        Gain
		asked, held int64
		lately      float64
		most        float64
	}{
		"nothing died":                         {Gain{Redelivered: 9}, 10, 10, 0, 0},
		"all that died came back":              {Gain{Redelivered: 9, Closed: 4}, 10, 10, 0, 9},
		"some may not have come back yet":      {Gain{Redelivered: 9, Closed: 4}, 10, 10, 1, 19},
		"channels held fewer than came back":   {Gain{Redelivered: 90, Closed: 4}, 10, 10, 1, 40},
		"each is acked before the next":        {Gain{Redelivered: 90, Closed: 4}, 1, 10, 1, 4},
		"nothing bounds what one channel held": {Gain{Redelivered: 9, Closed: 4}, 0, 0, 0, 9},
	} {
		if got := c.gain.DiedAsking(c.asked, c.held, c.lately); got != c.most {
			t.Errorf("%s: %v, want %v", name, got, c.most)
		}
	}
}

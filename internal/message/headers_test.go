package message

import "testing"

func TestEveryHeaderHasOneOwner(t *testing.T) {
	for name, want := range map[string]struct{ own, death, broker bool }{
		"dedup-requeue-id":      {own: true},
		"x-death":               {death: true, broker: true},
		"x-first-death-reason":  {death: true, broker: true},
		"x-last-death-exchange": {death: true, broker: true},
		"x-opt-token":           {broker: true},
		"x-delivery-count":      {broker: true},
		"x-acquired-count":      {broker: true},
		"CC":                    {broker: true},
		"BCC":                   {broker: true},
		"cc":                    {},
		"tenant":                {},
	} {
		if IsOwnHeader(name) != want.own || IsDeathHeader(name) != want.death || IsBrokerHeader(name) != want.broker {
			t.Errorf("%s: own %t, death %t, broker %t", name, IsOwnHeader(name), IsDeathHeader(name), IsBrokerHeader(name))
		}
	}
}

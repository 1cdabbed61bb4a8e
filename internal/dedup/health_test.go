package dedup

import "testing"

func TestOnlyAnotherServerInThePlaceOfOneIsARestart(t *testing.T) {
	type nodes = map[string]string
	three := StoreHealth{Nodes: nodes{"a": "1", "b": "2", "c": "3"}}
	for name, c := range map[string]struct {
		before, now StoreHealth
		want        bool
	}{
		"a server that runs on":                    {StoreHealth{RunID: "1"}, StoreHealth{RunID: "1"}, false},
		"a server that restarted":                  {StoreHealth{RunID: "1"}, StoreHealth{RunID: "2"}, true},
		"the first reading":                        {StoreHealth{}, three, false},
		"a reading without an answer":              {three, StoreHealth{}, false},
		"a cluster that runs on":                   {three, three, false},
		"a node of a cluster that restarted":       {three, StoreHealth{Nodes: nodes{"a": "1", "b": "9", "c": "3"}}, true},
		"a replica in the place of its primary":    {three, StoreHealth{Nodes: nodes{"a": "1", "b": "2", "r": "4"}}, true},
		"a node that got its first slot":           {three, StoreHealth{Nodes: nodes{"a": "1", "b": "2", "c": "3", "d": "4"}}, false},
		"a node that gave its last slot":           {three, StoreHealth{Nodes: nodes{"a": "1", "b": "2"}}, false},
		"a node that left while another restarted": {three, StoreHealth{Nodes: nodes{"a": "1", "b": "9"}}, true},
	} {
		if got := c.now.Restarted(c.before); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !three.Shares(StoreHealth{Nodes: nodes{"a": "1", "d": "4"}}) || three.Shares(StoreHealth{Nodes: nodes{"a": "9"}}) || (StoreHealth{}).Shares(StoreHealth{}) {
		t.Error("stores share a server that they do not have in common, or the other way round")
	}
}

package sample

import (
	"testing"

	"dedup-dashboard/internal/dedup"
)

// consuming is a topology in which connections consume from queues; "-" opens one that does not.
func consuming(second float64, consumers map[string]string, opened map[string]float64) *dedup.Topology {
	t := &dedup.Topology{At: atSecond(second), Consumers: []dedup.Consumer{}, Connections: []dedup.Connection{}}
	for connection, queue := range consumers {
		if queue != "-" {
			t.Consumers = append(t.Consumers, dedup.Consumer{Queue: dedup.QueueRef{Vhost: "/", Name: queue}, Connection: connection, AckRequired: true})
		}
		c := dedup.Connection{Name: connection}
		if s, ok := opened[connection]; ok {
			c.Opened = atSecond(s)
		}
		if connection != "" {
			t.Connections = append(t.Connections, c)
		}
	}
	return t
}

func TestClosings(t *testing.T) {
	type reading struct {
		second    float64
		consumers map[string]string // connection: queue
		opened    map[string]float64
		count     int64 // what the queue says
	}
	a, b := map[string]string{"a": "orders"}, map[string]string{"b": "orders"}
	tests := map[string]struct {
		readings []reading
		until    float64
		since    float64 // negative: no closing
	}{
		"the only consumer goes on since before all":  {[]reading{{100, a, map[string]float64{"a": 5}, 1}}, 200, 5},
		"the consumer was replaced":                   {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, b, map[string]float64{"b": 150}, 1}}, 300, 150},
		"not known when the pass began":               {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, b, map[string]float64{"b": 150}, 1}}, 199, 5},
		"a new consumer may not be listed yet":        {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, b, map[string]float64{"b": 199}, 1}}, 300, 189},
		"without a time, it came after the last look": {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, b, nil, 1}}, 300, 100},
		"its time is told later": {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, b, nil, 1}, {300, b, map[string]float64{"b": 150}, 1},
			{400, b, map[string]float64{"b": 250}, 1}}, 500, 150},
		"without a time, and there from the beginning": {[]reading{{100, a, nil, 1}}, 200, -1},
		"one of two consumers was closed": {[]reading{{100, map[string]string{"a": "orders", "c": "orders"}, map[string]float64{"a": 5, "c": 6}, 2},
			{200, a, map[string]float64{"a": 5}, 1}}, 300, 5},
		"the closed one served another queue": {[]reading{{100, map[string]string{"a": "orders", "c": "other"}, map[string]float64{"a": 5, "c": 50}, 1},
			{200, a, map[string]float64{"a": 5}, 1}}, 300, 5},
		"a consumer that has cancelled may still work": {[]reading{{100, a, map[string]float64{"a": 5}, 1},
			{200, map[string]string{"a": "-", "b": "orders"}, map[string]float64{"a": 5, "b": 150}, 1}}, 300, 5},
		"it has left at last": {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, map[string]string{"a": "-", "b": "orders"}, map[string]float64{"a": 5, "b": 150}, 1},
			{250, b, map[string]float64{"b": 150}, 1}}, 300, 150},
		"everybody left":                                       {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, nil, nil, 0}}, 300, 189},
		"nobody was ever seen":                                 {[]reading{{100, nil, nil, 0}, {200, nil, nil, 0}}, 300, -1},
		"the list hides consumers":                             {[]reading{{100, a, map[string]float64{"a": 5}, 2}}, 200, -1},
		"the list hides them suddenly":                         {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, nil, nil, 1}}, 300, 5},
		"a consumer without a name":                            {[]reading{{100, map[string]string{"": "orders"}, nil, 1}}, 200, -1},
		"the clock was set back":                               {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {50, b, nil, 1}}, 300, -1},
		"what was learned is kept when the list is incomplete": {[]reading{{100, a, map[string]float64{"a": 5}, 1}, {200, b, map[string]float64{"b": 150}, 1}, {300, b, nil, 7}}, 400, 150},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var l Links
			var log Closings
			for _, r := range tt.readings {
				l.Take(consuming(r.second, r.consumers, r.opened))
				queues := depthsOf(0, 0, 0, func(q map[dedup.QueueRef]*dedup.Queue) { q[orders()].Consumers = count(r.count) })
				log.Take(l.Closing([]dedup.QueueRef{orders()}, queues))
			}
			got := log.Until(atSecond(tt.until), atSecond(1e6))
			if want := atSecond(tt.since); (tt.since < 0) != got.Since.IsZero() || (tt.since >= 0 && !got.Since.Equal(want)) {
				t.Errorf("closed since %s, want %v s after %s", got.Since, tt.since, night)
			}
		})
	}
	t.Run("a broker that does not tell", func(t *testing.T) {
		var l Links
		l.Take(consuming(1, a, nil))
		l.Take(&dedup.Topology{At: atSecond(2), Consumers: []dedup.Consumer{}})
		if _, _, ok := l.Closing([]dedup.QueueRef{orders()}, depthsOf(0, 0, 0, nil)); ok {
			t.Error("connections that are not known are taken for closed ones")
		}
	})
}

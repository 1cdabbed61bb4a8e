package consumer

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"dedup-dashboard/internal/dedup"
)

var ordersQueue = dedup.QueueRef{Vhost: "/", Name: "orders"}

func subscribed(channels ...string) []dedup.Consumer {
	all := []dedup.Consumer{}
	for _, c := range channels {
		all = append(all, dedup.Consumer{Queue: ordersQueue, Channel: c, Connection: c, Tag: "ctag"})
	}
	return all
}

func TestARestartIsAConsumerWhosePlaceAnotherOneTook(t *testing.T) {
	for _, tt := range []struct {
		name     string
		readings [][]dedup.Consumer
		apart    time.Duration
		want     int64
	}{
		{"the same ones all along", [][]dedup.Consumer{subscribed("a", "b"), subscribed("b", "a")}, time.Minute, 0},
		{"the first ones are no restart", [][]dedup.Consumer{subscribed(), subscribed("a", "b")}, time.Minute, 0},
		{"one was replaced", [][]dedup.Consumer{subscribed("a", "b"), subscribed("a", "c")}, time.Minute, 1},
		{"all were replaced", [][]dedup.Consumer{subscribed("a", "b"), subscribed("c", "d")}, time.Minute, 2},
		{"one more is no restart", [][]dedup.Consumer{subscribed("a"), subscribed("a", "b")}, time.Minute, 0},
		{"one less is none", [][]dedup.Consumer{subscribed("a", "b"), subscribed("a")}, time.Minute, 0},
		{"seen while it was away", [][]dedup.Consumer{subscribed("a"), subscribed(), subscribed("b")}, time.Minute, 1},
		{"taken away, and another one added much later", [][]dedup.Consumer{subscribed("a"), subscribed(), subscribed(), subscribed("b")}, 9 * time.Minute, 0},
		{"a list that the broker withheld in between", [][]dedup.Consumer{subscribed("a"), nil, subscribed("b")}, time.Minute, 1},
		{"a list without names says nothing", [][]dedup.Consumer{subscribed("a"), subscribed(""), subscribed("a")}, time.Minute, 0},
		{"the same ones are listed again after a list without them", [][]dedup.Consumer{subscribed("a", "b"), subscribed(), subscribed("a", "b")}, time.Minute, 0},
		{"one is listed again, and the other was replaced", [][]dedup.Consumer{subscribed("a", "b"), subscribed(), subscribed("a", "c")}, time.Minute, 1},
		{"one was replaced while another one was not listed", [][]dedup.Consumer{subscribed("a", "b"), subscribed("b"), subscribed("c"), subscribed("a", "c")}, time.Minute, 1},
		{"a loop", [][]dedup.Consumer{subscribed("a"), subscribed("b"), subscribed("c"), subscribed("d")}, time.Minute, 3},
	} {
		var r restarts
		var got int64
		for i, consumers := range tt.readings {
			got += r.take([]dedup.QueueRef{ordersQueue}, &dedup.Topology{At: time.Unix(0, 0).Add(time.Duration(i) * tt.apart), Consumers: consumers})
		}
		if got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestNoMoreRestartsAreCountedThanThereWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r restarts
		living, next, truth, counted := []string{"0", "1", "2"}, 3, int64(0), int64(0)
		at := time.Unix(1_800_000_000, 0)
		read := func(listed []string) {
			at = at.Add(time.Minute)
			counted += r.take([]dedup.QueueRef{ordersQueue}, &dedup.Topology{At: at, Consumers: subscribed(listed...)})
		}
		read(living)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "restart") {
				i := rapid.IntRange(0, len(living)-1).Draw(t, "which")
				living[i] = string(rune('A' + next))
				next++
				truth++
			}
			if rapid.Bool().Draw(t, "read") {
				read(living[rapid.IntRange(0, len(living)).Draw(t, "left out"):])
				read(living)
			}
		}
		if read(living); counted > truth || (truth > 0) != (counted > 0) {
			t.Fatalf("counted %d of %d", counted, truth)
		}
	})
}

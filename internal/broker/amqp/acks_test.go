package amqp

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestAcksTakeExactlyWhatWasAcked lets deliveries be acked, released and held in any order, against a broker that knows what each ack
// means and denies, as RabbitMQ does, a tag that it has settled.
func TestAcksTakeExactlyWhatWasAcked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		held, unsettled := []uint64{}, map[uint64]bool{} // ours; the broker's
		taken, wanted := map[uint64]bool{}, map[uint64]bool{}
		a := newAcks(func(tag uint64, multiple bool) error {
			if !unsettled[tag] {
				return fmt.Errorf("unknown delivery tag %d", tag)
			}
			for settled := range unsettled {
				if settled == tag || multiple && settled < tag {
					taken[settled] = true
					delete(unsettled, settled)
				}
			}
			return nil
		}, func() {})
		defer a.timer.Stop()
		last := uint64(0)
		check := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		draw := func() uint64 {
			i := 0 // mostly in order, as an engine settles
			if rapid.IntRange(0, 3).Draw(t, "order") == 0 {
				i = rapid.IntRange(0, len(held)-1).Draw(t, "which")
			}
			tag := held[i]
			held = append(held[:i], held[i+1:]...)
			return tag
		}
		t.Repeat(map[string]func(*rapid.T){
			"deliver": func(*rapid.T) {
				for range 8 {
					last++
					held, unsettled[last] = append(held, last), true
				}
			},
			"ack": func(t *rapid.T) {
				for range min(len(held), 6) {
					tag := draw()
					wanted[tag] = true
					check(a.add(tag))
				}
			},
			"release": func(t *rapid.T) {
				if len(held) > 0 {
					tag := draw()
					a.skip(tag)
					if !unsettled[tag] {
						t.Fatalf("delivery %d was taken, and is now released", tag)
					}
					delete(unsettled, tag)
				}
			},
			"flush": func(*rapid.T) {
				check(a.flush())
				if len(taken) != len(wanted) {
					t.Fatalf("%d taken, %d acked", len(taken), len(wanted))
				}
			},
			"": func(t *rapid.T) {
				for tag := range taken {
					if !wanted[tag] {
						t.Fatalf("delivery %d was taken out of the queue, and nobody acked it", tag)
					}
				}
				if late := len(wanted) - len(taken); late >= maxAcks {
					t.Fatalf("%d acks wait", late)
				}
			},
		})
	})
}

package collector

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/topology"
	"dedup-dashboard/internal/dedup"
)

func TestDepthsAreLiveOnlyWhereEveryQueueAnswersItself(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	number := func(n int64) *int64 { return &n }
	source := dedup.QueueRef{Vhost: "/", Name: "emails"}
	dead := dedup.QueueRef{Vhost: "/", Name: "emails.dlq"}
	for _, tt := range []struct {
		name     string
		deadType string
		asked    time.Time
		missing  bool
		depth    float64
		from     time.Time
	}{
		{"all classic", "classic", at.Add(-time.Second), false, 3, at.Add(-time.Second)},
		{"a quorum queue among them", "quorum", at.Add(-time.Second), false, 40, at.Add(-sample.DepthLag)},
		{"a queue that did not answer", "classic", at.Add(-time.Second), true, 40, at.Add(-sample.DepthLag)},
		{"an answer older than the sample can be", "classic", at.Add(-time.Minute), false, 40, at.Add(-sample.DepthLag)},
		{"an answer from after the sample, as when the clock was set back", "classic", at.Add(time.Minute), false, 40, at.Add(-sample.DepthLag)},
		{"never asked", "classic", time.Time{}, false, 40, at.Add(-sample.DepthLag)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			live := map[dedup.QueueRef]*dedup.Queue{
				source: {QueueRef: source, Messages: number(3), Unacked: number(1)},
				dead:   {QueueRef: dead, Messages: number(7), Unacked: number(0)},
			}
			if tt.missing {
				delete(live, dead)
			}
			p := &pipeline{refs: []dedup.QueueRef{source}, targets: []topology.Target{{QueueRef: dead}}, keeps: keepsAll,
				dead: map[dedup.QueueRef]*deadQueue{}, arrived: &tally{}, broker: &brokerWatch{queues: map[dedup.QueueRef]*dedup.Queue{
					source: {QueueRef: source, Type: "classic", Messages: number(40), Unacked: number(4)},
					dead:   {QueueRef: dead, Type: tt.deadType, Messages: number(5), Unacked: number(0)},
				}}}
			var f sample.Frame
			p.measureDepths(&f, &brokerReading{BrokerSample: dedup.BrokerSample{At: at}, depths: liveDepths{tt.asked, live}})
			if f.Depth != tt.depth || !f.DepthFrom.Equal(tt.from) || !f.Whole || f.Blind {
				t.Errorf("depth %v from %v, whole %v, blind %v; want %v from %v", f.Depth, f.DepthFrom, f.Whole, f.Blind, tt.depth, tt.from)
			}
		})
	}
}

// The first readings of young queues tell no consumers of the dead letters: whether they count is decided afterwards.
func TestFramesWaitUntilTheDeadLettersAreKnownToBeKept(t *testing.T) {
	for _, tt := range []struct {
		name string
		then keeping
		want bool
	}{
		{"nobody consumes them", keepsAll, true},
		{"somebody consumes them", keepsNot, false},
		{"still not known", keepsPerhaps, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &pipeline{keeps: keepsPerhaps, broker: &brokerWatch{}}
			p.counted.Traffic.Frames.Add(sample.Frame{Presumed: true})
			p.settleKeeping(tt.then, &brokerReading{BrokerSample: dedup.BrokerSample{At: time.Unix(1, 0)}})
			if f := p.counted.Traffic.Frames[0]; f.Whole != tt.want {
				t.Errorf("whole %v, want %v", f.Whole, tt.want)
			}
		})
	}
}

package progress

import (
	"testing"
	"time"

	"dedup-dashboard/internal/collector/finding"
	"dedup-dashboard/internal/collector/sample"
	"dedup-dashboard/internal/collector/source"
	"dedup-dashboard/internal/dedup"
)

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// over are the frames of a quarter of an hour, one each 15 s, of messages whose counts grow by so much in each.
func over(acks, redeliveries, ready float64) Messages {
	m := Messages{Queues: []dedup.QueueRef{{Vhost: "/", Name: "orders"}}, Capacity: 10, MaxProcessing: time.Minute}
	var f sample.Frame
	for i := range 60 {
		f.Began = start.Add(time.Duration(i) * 15 * time.Second)
		f.Acks, f.Redeliveries = acks*float64(i), redeliveries*float64(i)
		f.Unacked, f.Depth = 10, 10+50+ready*float64(i)
		m.Frames = append(m.Frames, f)
	}
	m.Ready = dedup.Exact(dedup.Measured, dedup.Count, f.Depth-10, f.Began, "")
	m.Unacked = dedup.Exact(dedup.Measured, dedup.Count, 10, f.Began, "")
	return m
}

// stuck are messages of which the markers have been processing for an hour.
func stuck() Messages {
	m := over(0, 0, 0)
	for range 10 {
		m.Held = append(m.Held, dedup.Marker{ID: "m1", State: dedup.Processing, Since: start.Add(-time.Hour)})
	}
	return m
}

func kinds(found []dedup.Finding) (all []string) {
	for _, f := range found {
		all = append(all, f.Kind)
	}
	return all
}

func TestMessagesThatDoNotGetOnAreFound(t *testing.T) {
	end := start.Add(59 * 15 * time.Second)
	for name, tt := range map[string]struct {
		m             Messages
		loop, blocked bool
		growing       bool
	}{
		"they are acked":                  {over(100, 0, 0), false, false, false},
		"they go round":                   {over(1, 100, 0), true, false, false},
		"they stand still":                {stuck(), false, true, false},
		"slow work looks the same":        {over(0, 0, 0), false, false, false},
		"they pile up":                    {over(20, 0, 100), false, false, true},
		"an outage has only just ended":   {func() Messages { m := stuck(); m.From = end; return m }(), false, false, false},
		"nothing was read yet":            {Messages{}, false, false, false},
		"the depth of a queue is unknown": {func() Messages { m := stuck(); m.Ready = dedup.Unknown(dedup.Count, "why"); return m }(), false, false, false},
	} {
		found := map[string]bool{}
		for _, k := range kinds(append(tt.m.Blocked(), tt.m.Growing()...)) {
			found[k] = true
		}
		if found["looping"] != tt.loop || found["head_blocked"] != tt.blocked || found["backlog_growing"] != tt.growing {
			t.Errorf("%s: found %v", name, found)
		}
	}
}

func TestOnlyMarkersThatWereProcessingAllTheTimeAreSuspected(t *testing.T) {
	m := over(0, 0, 0)
	end := m.Frames[len(m.Frames)-1].Began
	m.Held = []dedup.Marker{{ID: "old", State: dedup.Processing, Since: end.Add(-time.Hour)}, {ID: "young", State: dedup.Processing, Since: end.Add(-time.Second)}}
	if got := m.suspects(end, 10*time.Minute); len(got) != 1 || got[0].ID != "old" {
		t.Errorf("suspected are %+v", got)
	}
	m.Ready, m.Unacked = dedup.Exact(dedup.Measured, dedup.Count, 0, end, ""), dedup.Exact(dedup.Measured, dedup.Count, 0, end, "")
	if got := m.suspects(end, 10*time.Minute); got != nil {
		t.Errorf("of no message: %+v", got)
	}
}

func TestAStandstillInAnOutageSaysSo(t *testing.T) {
	m := stuck()
	m.Down = &source.Outage{Source: "store orders", From: start.Add(-time.Hour)}
	with, without := m.Blocked(), stuck().Blocked()
	if len(with) != 1 || len(without) != 1 || with[0].Kind != without[0].Kind || with[0].Text == without[0].Text && with[0].Evidence == without[0].Evidence {
		t.Errorf("with an outage %+v, without %+v", with, without)
	}
	if h := m.head(finding.BlockSpan); h.Span < finding.BlockSpan {
		t.Errorf("it looks back over %s", h.Span)
	}
}

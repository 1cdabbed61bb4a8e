package rule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
)

// ofBroker is a measure of brokers. What was read of one that is down is old, and says nothing.
func ofBroker(judge func(b *dedup.BrokerStatus, r Rule, j Judgement) Judgement) measure {
	return measure{kind: OfBroker, judge: func(_ *Round, s *Subject, r Rule, j Judgement) Judgement {
		if !s.source.OK {
			return j.unread(s.source)
		}
		return judge(s.broker, r, j)
	}}
}

// byNodes judges the number of a broker's nodes of which a sentence can be said.
func byNodes(b *dedup.BrokerStatus, r Rule, j Judgement, none string, say func(dedup.Node) string) Judgement {
	if b.State.Nodes == nil {
		return j.Unjudged(HealthNoData, "the nodes of the broker cannot be read: give the watching account the tag monitoring")
	}
	var said []string
	for _, n := range b.State.Nodes {
		if text := say(n); text != "" {
			said = append(said, text)
		}
	}
	j = j.judged(r, none, float64(len(said)))
	if len(said) > 0 {
		j.Why, j.Evidence = said[0], said[1:]
		if len(said) > 1 {
			j.Why += fmt.Sprintf("; +%d more", len(said)-1)
		}
	}
	return j
}

func nodesInAlarm(b *dedup.BrokerStatus, r Rule, j Judgement) Judgement {
	return byNodes(b, r, j, "no node has an alarm", func(n dedup.Node) string {
		var alarms []string
		if n.MemoryAlarm {
			alarms = append(alarms, "memory")
		}
		if n.DiskAlarm {
			alarms = append(alarms, "disk")
		}
		if len(alarms) == 0 {
			return ""
		}
		return fmt.Sprintf("node %s has a %s alarm: the broker takes no message from any publisher", n.Name, strings.Join(alarms, " and a "))
	})
}

func nodesDown(b *dedup.BrokerStatus, r Rule, j Judgement) Judgement {
	return byNodes(b, r, j, "every node runs", func(n dedup.Node) string {
		if n.Running {
			return ""
		}
		return "node " + n.Name + " does not run"
	})
}

func nodesCutOff(b *dedup.BrokerStatus, r Rule, j Judgement) Judgement {
	return byNodes(b, r, j, "every node sees the others", func(n dedup.Node) string {
		if len(n.Partitions) == 0 {
			return ""
		}
		return fmt.Sprintf("node %s cannot see %s", n.Name, strings.Join(n.Partitions, ", "))
	})
}

// queuesWithoutService judges the queues that cannot serve: those without a majority of their members, and those that are down.
func queuesWithoutService(b *dedup.BrokerStatus, r Rule, j Judgement) Judgement {
	minority, down := b.State.QueuesMinority, b.State.QueuesDown
	what := "every queue can serve"
	if len(minority)+len(down) > 0 {
		what = fmt.Sprintf("%s without a majority of members, %s down", Figured(float64(len(minority)), "queue"), Number(float64(len(down))))
	}
	j = j.judged(r, what, float64(len(minority)+len(down)))
	for _, list := range []struct {
		word   string
		queues []dedup.QueueRef
	}{{"without a majority: ", minority}, {"down: ", down}} {
		if len(list.queues) > 0 {
			j.Evidence = append(j.Evidence, list.word+queueList(list.queues))
		}
	}
	return j
}

// queueList names some queues, with their vhosts.
func queueList(refs []dedup.QueueRef) string {
	const most = 10
	var named []string
	for _, ref := range refs[:min(most, len(refs))] {
		named = append(named, ref.Name+" in "+ref.Vhost)
	}
	if len(refs) > most {
		named = append(named, fmt.Sprintf("%d more", len(refs)-most))
	}
	return strings.Join(named, ", ")
}

// unreachable judges for how long a broker, a store, or what consumers of a pipeline report could not be read. The warning
// limit is three intervals unless the rule gives one. What fires does not fall by a count that began anew: only an answer tells
// that it is over.
func unreachable(in *Round, s *Subject, r Rule, j Judgement) Judgement {
	late := 3 * in.Snapshot.Interval.Seconds()
	if r.Limits.Warning == nil && late > 0 {
		r.Limits = r.Limits.atLeast(late)
		r.Limits.Warning = &late
	}
	h := s.source
	if h.OK {
		return j.judged(r, h.Name+" answers", 0)
	}
	if !h.Tried {
		return j.unread(h)
	}
	since, quiet := in.missedSince(h), 0.0
	if s.Kind == OfPipeline {
		// The store's outage is not told of again while what is reported waits for its turn to be read.
		if store, known := in.Snapshot.Store(s.pipeline.Pipeline.ReportedStore); known && store.Health.Since.After(since) {
			since = store.Health.Since
		}
	}
	if !since.IsZero() {
		quiet = max(0, in.Now.Sub(since).Seconds())
	}
	j = j.judged(r, h.Name+" unreachable for "+secondsText(quiet), quiet)
	if h.LastSuccess.IsZero() || !h.Away.IsZero() {
		j.Holds = dedup.Emergency
	}
	j.Why += in.awayText(h)
	if h.Err != "" {
		j.Why += ": " + h.Err
	}
	return j
}

// sources are the subjects that can be unreachable. Of a pipeline it is what its consumers report; one alert of a store that is down is
// enough.
func (in *Round) sources() []Subject {
	all := slices.Concat(in.subjects[OfBroker], in.subjects[OfStore])
	for _, s := range in.subjects[OfPipeline] {
		h, reported := sourceOf(in.Snapshot, s.pipeline, "reported")
		store, known := in.Snapshot.Store(s.pipeline.Pipeline.ReportedStore)
		if reported && (!known || store.Health.OK) {
			s.source = h
			all = append(all, s)
		}
	}
	return all
}

// sourceOf finds the source of a kind that a pipeline depends on.
func sourceOf(s *dedup.Snapshot, p *dedup.PipelineStatus, kind string) (dedup.SourceHealth, bool) {
	for _, h := range s.Sources {
		if h.Kind == kind && slices.Contains(p.Sources, h.Name) {
			return h, true
		}
	}
	return dedup.SourceHealth{}, false
}

// missedSince is from when on an outage of a source is counted: from its last answer. Where the dashboard was away since then it is the
// first try that failed, because nobody knows what was meanwhile. After a long absence even an outage that was seen before counts only
// once it has gone on for three intervals more: until then the source may be starting like the dashboard.
func (in *Round) missedSince(h dedup.SourceHealth) time.Time {
	switch back := h.Away.Until; {
	case h.Away.IsZero() && !h.LastSuccess.IsZero():
		return h.LastSuccess
	case h.Away.Lasted() > LongestPause && h.Since.Before(back) && in.Now.Sub(back) < 3*in.Snapshot.Interval:
		return back
	default:
		return h.Since
	}
}

// awayText says that the dashboard was away in the outage, and when the source was last read; empty where it was not.
func (in *Round) awayText(h dedup.SourceHealth) string {
	if h.Away.IsZero() {
		return ""
	}
	clock := func(t time.Time) string {
		if in.Now.Sub(t) > 12*time.Hour {
			return t.In(in.Now.Location()).Format("2 Jan 15:04")
		}
		return t.In(in.Now.Location()).Format(time.TimeOnly)
	}
	text := "; the dashboard was not running from " + clock(h.Away.From) + " to " + clock(h.Away.Until)
	if !h.LastSuccess.IsZero() {
		text = "; not read since " + clock(h.LastSuccess) + text
	}
	return text
}

package pipeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dedup-dashboard/internal/dedup"
	"dedup-dashboard/internal/server/show"
	"dedup-dashboard/internal/server/web"
	"dedup-dashboard/web/templates"
)

const (
	// trackLimit is how many marks are drawn under the duplicates; more cannot be told apart.
	trackLimit = 24
	// membersShown is how many events the line of one mark lists.
	membersShown = 12
)

// track is the events within the range as marks in time order; the newest are kept. Events that lie too close to be told
// apart share a mark.
func track(snap *dedup.Snapshot, p *dedup.PipelineStatus, q web.Range, now time.Time) templates.Track {
	from, to, _ := q.Window(snap.Interval)
	events := slices.DeleteFunc(snap.EventsOf(p), func(e dedup.Event) bool { return e.At.Before(from) || e.At.After(to) })
	t := templates.Track{Ticks: templates.TimeTicks(from.In(now.Location()), to.In(now.Location()))}
	var closed int64
	t.Wide, closed, events = brokerWide(events, now)
	if len(t.Wide) > 0 {
		t.WideWord = fmt.Sprintf("Broker %s: channels were closed %s in this range, by whichever pipelines", show.Within(p.Pipeline.Broker), times(closed))
	}
	place := func(e dedup.Event) float64 { return float64(e.At.Sub(from)) / float64(to.Sub(from)) * 100 }
	groups := crowds(events, place)
	for len(groups) > trackLimit {
		t.More += len(groups[0])
		groups = groups[1:]
	}
	for i, g := range groups {
		e := trackEvent(g, now)
		e.Number, e.Place = i+1, place(g[0])
		e.X = strconv.FormatFloat(e.Place, 'f', 2, 64) + "%"
		t.Events = append(t.Events, e)
	}
	templates.ThinOut(t.Events)
	return t
}

// crowds groups events in time order: each group begins at least one gap after the beginning of the one before.
func crowds(events []dedup.Event, place func(dedup.Event) float64) [][]dedup.Event {
	var groups [][]dedup.Event
	for _, e := range events {
		if n := len(groups); n > 0 && place(e)-place(groups[n-1][0]) < templates.TrackGap {
			groups[n-1] = append(groups[n-1], e)
		} else {
			groups = append(groups, []dedup.Event{e})
		}
	}
	return groups
}

// trackEvent is the mark of one event, or of several.
func trackEvent(group []dedup.Event, now time.Time) templates.TrackEvent {
	first, last := group[0], group[len(group)-1]
	kind := kindOf(first.Kind)
	e := templates.TrackEvent{At: show.Moment(first.At, now), Kind: kind.one, Shape: kind.shape, Text: show.Statement(first.Text)}
	if len(group) == 1 {
		if n := first.Happenings(); n > 1 {
			e.Kind = kind.counted(n)
		}
		return e
	}
	var kinds []string
	counts := map[string]int64{}
	for i, x := range group {
		if counts[x.Kind] == 0 {
			kinds = append(kinds, x.Kind)
		}
		counts[x.Kind] += x.Happenings()
		if i < membersShown {
			e.Members = append(e.Members, templates.TrackMember{At: show.Moment(x.At, now), Kind: kindOf(x.Kind).one, Text: show.Statement(x.Text)})
		}
	}
	e.More = len(group) - len(e.Members)
	if show.Moment(last.At, now).Text != e.At.Text {
		e.Until = show.Moment(last.At, now)
	}
	if len(kinds) > 1 {
		e.Shape = "stack"
	}
	var words []string
	for _, k := range kinds {
		words = append(words, kindOf(k).counted(counts[k]))
	}
	e.Kind = strings.Join(words, ", ")
	return e
}

// An eventKind is how events of a kind are named and drawn.
type eventKind struct{ one, many, shape string }

func (k eventKind) counted(n int64) string {
	if n == 1 {
		return "1 " + k.one
	}
	return templates.Number(n) + " " + k.many
}

func kindOf(kind string) eventKind {
	switch kind {
	case "consumer_restart":
		return eventKind{"consumer restart", "consumer restarts", "circle"}
	case "consumers_changed":
		return eventKind{"consumers changed", "changes of the consumers", "circle"}
	case "ack_timeout":
		return eventKind{"ack timeout", "ack timeouts", "hexagon"}
	case "broker_restart":
		return eventKind{"broker restart", "broker restarts", "square"}
	case "failover":
		return eventKind{"failover", "failovers", "square"}
	case "node_down":
		return eventKind{"node down", "nodes down", "square"}
	case "partition":
		return eventKind{"partition", "partitions", "square"}
	case "alarm":
		return eventKind{"alarm", "alarms", "triangle"}
	case "counter_reset":
		return eventKind{"counter reset", "counter resets", "diamond"}
	case "eviction":
		return eventKind{"eviction", "evictions", "barrel"}
	case "store_restart":
		return eventKind{"store restart", "store restarts", "barrel"}
	case "job":
		return eventKind{"requeue by us", "requeues by us", "arrow"}
	case "action":
		return eventKind{"action of ours", "actions of ours", "arrow"}
	case "mark":
		return eventKind{"deploy", "deploys", "flag"}
	case "double_effect":
		return eventKind{"double effect", "double effects", "diamond"}
	case "source_down":
		return eventKind{"source lost", "sources lost", "cross"}
	case "source_up":
		return eventKind{"source back", "sources back", "cross"}
	}
	word := show.ShortName(kind)
	return eventKind{word, word, "circle"}
}

// brokerWide takes out the events that concern the whole broker and come in numbers: which pipeline they belong to cannot be
// told, so that they stand apart and are not drawn beside its figures. The newest come first; n counts what all of them tell of.
func brokerWide(events []dedup.Event, now time.Time) (wide []templates.TrackEvent, n int64, rest []dedup.Event) {
	for _, e := range slices.Backward(events) {
		if e.Kind != "channels_closed" {
			continue
		}
		n += e.Happenings()
		if len(wide) < trackLimit {
			wide = append(wide, templates.TrackEvent{At: show.Moment(e.At, now), Text: show.Statement(e.Text)})
		}
	}
	return wide, n, slices.DeleteFunc(events, func(e dedup.Event) bool { return e.Kind == "channels_closed" })
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return templates.Number(n) + " times"
}

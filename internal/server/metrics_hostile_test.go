package server

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"dedup-dashboard/internal/dedup"
)

// hostileNames are names that a broker lets a queue have, or that somebody could send us as one.
func hostileNames() map[string]string {
	names := map[string]string{
		"NUL": "dlq\x00", "NUL alone": "\x00", "a newline": "dlq\ninjected 1", "a carriage return": "dlq\r", "a tab": "dlq\t", "escape": "dlq\x1b[31m", "DEL": "dlq\x7f",
		"a control character of C1": "dlq\u0085", "a quote": `dlq"} 1`, "a backslash at the end": `dlq\`, "a backslash before n": `dlq\n`, "a quote after a backslash": `dlq\"`,
		"invalid UTF-8": "dlq\xff", "other invalid UTF-8": "dlq\xfe", "half a rune": "dlq\xe4\xbd", "a surrogate": "dlq\xed\xa0\x80", "the replacement character": "dlq\ufffd",
		"what NUL is written as": `dlq\x00`, "what that is written as": `dlq\\x00`, "what C1 is written as": `dlq\u0085`, "a comment": "# HELP x y", "braces": "{a=\"b\"}", "empty": "",
		"very long": strings.Repeat("x", 255), "far too long": strings.Repeat("\x00", 64<<10), "a byte order mark": "\ufeffdlq", "right to left": "dlq\u202e",
	}
	for c := range 0x20 {
		names[fmt.Sprintf("control character %#x", c)] = fmt.Sprintf("c%c", c)
	}
	return names
}

// scrape returns /metrics with dead-letter queues of these names.
func (s *site) scrape(names map[string]string) string {
	s.t.Helper()
	snap := sampleSnapshot()
	snap.At = time.Now()
	snap.Pipelines = snap.Pipelines[:1]
	snap.Pipelines[0].DeadLetterQueues = nil
	for _, name := range names {
		snap.Pipelines[0].DeadLetterQueues = append(snap.Pipelines[0].DeadLetterQueues, dedup.DeadLetterQueue{QueueRef: dedup.QueueRef{Vhost: name, Name: name}, Depth: dedup.Exact(dedup.Measured, dedup.Count, 1, time.Now(), "test")})
	}
	s.snapshots.snap.Store(snap)
	return s.body(s.as("viewer", "GET", "/metrics", ""))
}

// queuesIn reads the exposition as a Prometheus server does, and returns the labels of dead-letter queues.
func queuesIn(t *testing.T, text string) []string {
	t.Helper()
	var queues []string
	p := textparse.NewPromParser([]byte(text), labels.NewSymbolTable(), false)
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return queues
		}
		if err != nil {
			t.Fatalf("Prometheus cannot read it: %.200v", err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var l labels.Labels
		p.Labels(&l)
		if l.Get("__name__") == "dedup_dead_letters" {
			if l.Get("vhost") != l.Get("queue") {
				t.Errorf("vhost %q, queue %q", l.Get("vhost"), l.Get("queue"))
			}
			queues = append(queues, l.Get("queue"))
		}
	}
}

func TestPrometheusReadsTheMetricsWhateverQueuesAreCalled(t *testing.T) {
	s := newSite(t, nil, testUsers())
	for what, name := range hostileNames() {
		t.Run(what, func(t *testing.T) {
			text := s.scrape(map[string]string{what: name})
			if queues := queuesIn(t, text); len(queues) != 1 {
				t.Errorf("%d queues: %.200q", len(queues), queues)
			}
			parser := expfmt.NewTextParser(model.UTF8Validation)
			if _, err := parser.TextToMetricFamilies(strings.NewReader(text)); err != nil {
				t.Errorf("the parser of client programs: %.200v", err)
			}
		})
	}
}

func TestNoTwoQueuesShareALabel(t *testing.T) {
	names := hostileNames()
	queues := queuesIn(t, newSite(t, nil, testUsers()).scrape(names))
	slices.Sort(queues)
	distinct := map[string]bool{}
	for _, name := range names {
		distinct[name] = true
	}
	if got := len(slices.Compact(queues)); got != len(distinct) {
		t.Errorf("%d labels for %d names", got, len(distinct))
	}
	if !slices.Contains(queues, `dlq"} 1`) || !slices.Contains(queues, `dlq\`) || !slices.Contains(queues, `dlq\n`) {
		t.Error("a name that can be written as it is was not")
	}
}

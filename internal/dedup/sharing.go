package dedup

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Sharing is who else may have put messages into a dead-letter queue of a pipeline. The zero value says nobody.
type Sharing struct {
	// Pipelines are the others that have the queue, in the order of the configuration.
	Pipelines []string
	// Queues are queues of no pipeline whose dead letters may come there.
	Queues []string
}

// Any reports whether anybody else may have put messages there.
func (s Sharing) Any() bool { return len(s.Pipelines)+len(s.Queues) > 0 }

// A SharedQueue is a dead-letter queue whose messages may be of several pipelines, or of queues that no pipeline has. It is judged by
// itself: which of its messages are whose is not known.
type SharedQueue struct {
	QueueRef
	Broker string
	// Pipelines are all that have the queue, Queues as those of Sharing.
	Pipelines []string
	Queues    []string
	Depth     Figure
	// Inflow is per hour, over the last one.
	Inflow Figure
	// Acknowledged is how many of Depth were acknowledged, by whoever has the queue.
	Acknowledged int64
	// Down is its broker, while that cannot be read.
	Down []SourceHealth
}

// Subject names the queue among those of all brokers, without a slash: main:orders.dlq, and main:shop:orders.dlq in virtual host shop.
func (q SharedQueue) Subject() string {
	parts := []string{q.Broker}
	if q.Vhost != "/" {
		parts = append(parts, q.Vhost)
	}
	parts = append(parts, q.Name)
	for i := range parts {
		parts[i] = subjectPart(parts[i])
	}
	return strings.Join(parts, ":")
}

// subjectPart escapes what would end a part, or cannot be printed.
func subjectPart(s string) string {
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if strings.ContainsRune("/:%", r) || r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) {
			for _, c := range []byte(s[:size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}

// FreshDeadLetters are the dead letters of the pipeline beyond those that were acknowledged, of the ones that are surely its own.
func (p *PipelineStatus) FreshDeadLetters() float64 {
	return max(0, p.DeadLetters.Low-float64(p.OwnAcknowledged()))
}

// OwnAcknowledged is how many of the dead letters that are surely the pipeline's own were acknowledged. Where the baseline does not say,
// those in shared queues are taken to be among the acknowledged ones first; while nobody knows which queues are shared all count alike.
func (p *PipelineStatus) OwnAcknowledged() int64 {
	switch {
	case p.Baseline == nil:
		return 0
	case p.Baseline.Split && !p.SharingUnknown:
		return p.Baseline.Own
	}
	return max(0, p.Baseline.Count-int64(p.DeadLetters.Width()))
}

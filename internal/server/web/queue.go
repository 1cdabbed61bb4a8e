package web

import "dedup-dashboard/internal/dedup"

// DeadLetterQueueJSON is a dead-letter queue of a pipeline.
type DeadLetterQueueJSON struct {
	Vhost     string     `json:"vhost"`
	Queue     string     `json:"queue"`
	Type      string     `json:"type"`
	Found     string     `json:"found"`
	Depth     FigureJSON `json:"depth"`
	Consumers FigureJSON `json:"consumers"`
	// Shared is null where nobody else has messages there.
	Shared *sharingJSON `json:"shared_with"`
}

// sharingJSON is who else has messages in a dead-letter queue.
type sharingJSON struct {
	Pipelines []string `json:"pipelines"`
	Queues    []string `json:"queues"`
}

// DeadLetterQueue writes a dead-letter queue.
func (r Reading) DeadLetterQueue(q dedup.DeadLetterQueue) DeadLetterQueueJSON {
	return DeadLetterQueueJSON{q.Vhost, q.Name, q.Type, q.Found, r.Figure(q.Depth), r.Figure(q.Consumers), sharingOf(q.Shared)}
}

func sharingOf(s dedup.Sharing) *sharingJSON {
	if !s.Any() {
		return nil
	}
	return &sharingJSON{append([]string{}, s.Pipelines...), append([]string{}, s.Queues...)}
}

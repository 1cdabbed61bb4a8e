package broker

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"dedup-dashboard/internal/dedup"
)

// Queue reads one queue with its effective policy, depth and consumers. A queue that does not exist is an error of kind NoQueue.
func (c *Client) Queue(ctx context.Context, ref dedup.QueueRef) (dedup.Queue, error) {
	if err := c.enter(ctx); err != nil {
		return dedup.Queue{}, err
	}
	defer c.leave()
	var row queueRow
	err := c.api.get(ctx, APIPath("queues", ref.Vhost, ref.Name), nil, &row)
	if isNoObject(err) || err == nil && row.Name == "" {
		return dedup.Queue{}, &Error{Kind: NoQueue, Broker: c.api.name, Status: http.StatusNotFound,
			Request: fmt.Sprintf("read queue %s of vhost %s", Quote(ref.Name), Quote(ref.Vhost)),
			Text:    "there is no such queue", Remedy: "it was deleted, or the watching account may not see its vhost"}
	}
	if err != nil {
		return dedup.Queue{}, err
	}
	queue := []dedup.Queue{row.queue()}
	if queue[0].PolicyUnknown {
		c.addPolicies(ctx, queue)
	}
	return queue[0], nil
}

// isNoObject reports whether the API itself, and not something else at its address, says that there is no such object.
func isNoObject(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound && e.word != ""
}

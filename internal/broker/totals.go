package broker

import (
	"context"
	"net/url"
	"time"

	"dedup-dashboard/internal/dedup"
)

// totalsQuery asks for depths without counters.
func totalsQuery() url.Values {
	return url.Values{"disable_stats": {"true"}, "enable_queue_totals": {"true"}}
}

// Totals reads the depths of all queues that the account may see. Those of classic queues are as old as the request,
// where those of Sample are up to 10 s old; quorum queues renew theirs at each Raft tick, every 5 s. It asks for the whole list at once, because for a page the broker reads all queues too:
// on 3.10.8 with 5,000 queues the list took 0.27 s and its 11 pages 1.7 s.
func (c *Client) Totals(ctx context.Context) (dedup.QueueTotals, error) {
	if err := c.enter(ctx); err != nil {
		return dedup.QueueTotals{}, err
	}
	defer c.leave()
	started := time.Now()
	list := &queueList{}
	if err := c.api.getTwice(ctx, APIPath("queues"), totalsQuery(), &rows[queueRow]{each: list.add}); err != nil {
		return dedup.QueueTotals{}, err
	}
	return dedup.QueueTotals{At: started, Queues: list.queues}, nil
}

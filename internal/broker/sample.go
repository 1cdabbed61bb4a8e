package broker

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

// Sample reads the broker's own description, its nodes and all queues that the account may see. What cannot be read
// beside the queues becomes a Problem of the sample; an error means that there is no sample. Errors are *Error, or wrap
// the context's.
func (c *Client) Sample(ctx context.Context) (dedup.BrokerSample, error) {
	if err := c.enter(ctx); err != nil {
		return dedup.BrokerSample{}, err
	}
	defer c.leave()
	started := time.Now()
	overview, err := c.readOverview(ctx)
	if err != nil {
		return dedup.BrokerSample{}, err
	}
	asked := c.api.at
	list, err := c.queues.pages(ctx, queuesQuery(overview))
	if err != nil {
		return dedup.BrokerSample{}, err
	}
	whole, err := c.queues.findMoved(ctx, list, queuesQuery(overview))
	if err != nil {
		return dedup.BrokerSample{}, err
	}
	nodes, nodesErr := c.readNodes(ctx) // after the queues: a node that comes back meanwhile is told of
	if err := ctx.Err(); err != nil {
		return dedup.BrokerSample{}, fmt.Errorf("broker %s: %w", c.api.name, err)
	}
	if c.api.at != asked { // what was read is another node's
		if overview, err = c.readOverview(ctx); err != nil {
			return dedup.BrokerSample{}, err
		}
	}
	if overview.StatsDisabled {
		c.addPolicies(ctx, list.queues)
	}
	sample := dedup.BrokerSample{
		At: started, Info: overview.info(), Queues: list.queues,
		State:          dedup.BrokerState{Nodes: nodes, QueuesDown: list.down, QueuesMinority: list.minority},
		QueuesTotal:    overview.Objects.value.Queues.value,
		ChannelsClosed: overview.Churn.value.ChannelsClosed.value,
		ChannelsOpen:   overview.Objects.value.Channels.value,
	}
	sample.Deaths, sample.Totals = c.scraper.scrape(ctx)
	if c.log != nil {
		sample.Log = c.log.Reading()
	}
	if !whole {
		sample.QueuesTotal = nil // an equal count must not pass for a whole list
	}
	sample.Problems = slices.Concat(
		statsProblems(sample.Info, list.queues), ratesProblems(overview), c.lag.problems(overview), nodeProblems(c.api.user, nodes, nodesErr),
		c.hidden.problems(ctx, &sample), c.traced.problems(ctx, started),
	)
	sample.Took = time.Since(started)
	return sample, nil
}

// queuesQuery asks for what the broker has: with statistics disabled it still gives depths, if it is asked to.
func queuesQuery(overview *overviewRow) url.Values {
	if overview.StatsDisabled {
		return totalsQuery()
	}
	return url.Values{}
}

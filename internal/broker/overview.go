package broker

import (
	"context"

	"dedup-dashboard/internal/dedup"
)

// An overviewRow is /api/overview, reduced to what is used. Users without the tag monitoring get no node and totals of
// their own vhosts only.
type overviewRow struct {
	Cluster       word               `json:"cluster_name"`
	Version       word               `json:"rabbitmq_version"`
	Node          word               `json:"node"`
	RatesMode     word               `json:"rates_mode"`
	StatsDisabled flag               `json:"disable_stats"`
	QueueTotals   flag               `json:"enable_queue_totals"`
	Backlog       number             `json:"statistics_db_event_queue"`
	Objects       object[objectsRow] `json:"object_totals"`
	Churn         object[churnRow]   `json:"churn_rates"`
}

type objectsRow struct {
	Queues   number `json:"queues"`
	Channels number `json:"channels"`
}

type churnRow struct {
	ChannelsClosed number `json:"channel_closed"`
}

func (o *overviewRow) info() dedup.BrokerInfo {
	return dedup.BrokerInfo{
		Cluster: string(o.Cluster), Version: string(o.Version), Node: string(o.Node), RatesMode: string(o.RatesMode),
		StatsDisabled: bool(o.StatsDisabled), QueueTotals: bool(o.QueueTotals),
	}
}

// readOverview reads /api/overview, and insists that it is one: anything may answer with some JSON.
func (c *Client) readOverview(ctx context.Context) (*overviewRow, error) {
	row := &overviewRow{}
	path := APIPath("overview")
	if err := c.api.get(ctx, path, nil, row); err != nil {
		return nil, err
	}
	if row.Version == "" {
		return nil, c.api.failure("GET /api/overview", Error{
			Kind: NotManagement, Text: "the answer names no rabbitmq_version, so this is not the management API",
			Remedy: notManagementRemedy,
		})
	}
	return row, nil
}

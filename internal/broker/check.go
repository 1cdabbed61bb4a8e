package broker

import (
	"context"

	"dedup-dashboard/internal/dedup"
)

// A Report is what one look at a broker found, for a person who sets the dashboard up.
type Report struct {
	// User and Tags are the account as the broker sees it.
	User string
	Tags []string
	// Sample is one full reading; its problems are those of the report.
	Sample dedup.BrokerSample
	// Topology counts what was readable; a nil Consumers means that the broker does not list them.
	Topology dedup.Topology
}

// A whoamiRow is /api/whoami. Tags are a list since 3.9 and a comma-separated string before.
type whoamiRow struct {
	Name word  `json:"name"`
	Tags names `json:"tags"`
}

// Check reads everything once and returns what was found. Problems that do not stop a reading are in the sample.
func (c *Client) Check(ctx context.Context) (Report, error) {
	account, err := c.whoami(ctx)
	if err != nil {
		return Report{}, err
	}
	report := Report{User: string(account.Name), Tags: account.Tags}
	if report.Sample, err = c.Sample(ctx); err != nil {
		return Report{}, err
	}
	if report.Topology, err = c.Topology(ctx); err != nil {
		return Report{}, err
	}
	return report, nil
}

func (c *Client) whoami(ctx context.Context) (whoamiRow, error) {
	if err := c.enter(ctx); err != nil {
		return whoamiRow{}, err
	}
	defer c.leave()
	var row whoamiRow
	err := c.api.get(ctx, APIPath("whoami"), nil, &row)
	return row, err
}

package broker

import (
	"context"
	"time"

	"dedup-dashboard/internal/dedup"
)

// A channelRow is a channel as the list sends it, reduced to what is used; its connection_details may be [].
type channelRow struct {
	Name       word                      `json:"name"`
	Vhost      word                      `json:"vhost"`
	Node       word                      `json:"node"`
	Connection object[channelConnection] `json:"connection_details"`
}

type channelConnection struct {
	Name word `json:"name"`
}

const channelColumns = "name,vhost,node,connection_details.name"

// Channels lists the open channels that the account may see, and after them the consumers. Both are nil where the broker does not
// tell, as with statistics disabled. A channel is listed from its first 5 s on, and no longer once it is closed. The broker
// gathers the statistics of every channel for it, whatever the columns: ask where there are not too many.
func (c *Client) Channels(ctx context.Context) (dedup.ChannelList, error) {
	if err := c.enter(ctx); err != nil {
		return dedup.ChannelList{}, err
	}
	defer c.leave()
	list := dedup.ChannelList{At: time.Now()}
	channels, err := collect(ctx, c.api, "channels", channelColumns, (*channelRow).channel)
	if withholdsConsumers(err) {
		return list, nil
	}
	if err != nil {
		return dedup.ChannelList{}, err
	}
	consumers, err := collect(ctx, c.api, "consumers", consumerColumns, (*consumerRow).consumer)
	if withholdsConsumers(err) {
		return list, nil
	}
	if err != nil {
		return dedup.ChannelList{}, err
	}
	list.Channels, list.Consumers, list.Took = channels, consumers, time.Since(list.At)
	return list, nil
}

func (r *channelRow) channel() dedup.Channel {
	return dedup.Channel{Name: string(r.Name), Connection: string(r.Connection.value.Name), Vhost: string(r.Vhost), Node: string(r.Node)}
}

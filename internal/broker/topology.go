package broker

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"dedup-dashboard/internal/dedup"
)

type exchangeRow struct {
	Vhost     word  `json:"vhost"`
	Name      word  `json:"name"`
	Type      word  `json:"type"`
	Arguments table `json:"arguments"`
	Policy    word  `json:"policy"`
}

type bindingRow struct {
	Vhost           word `json:"vhost"`
	Source          word `json:"source"`
	Destination     word `json:"destination"`
	DestinationType word `json:"destination_type"`
	RoutingKey      word `json:"routing_key"`
}

// A consumerRow is a consumer; its channel_details may be [] (rabbitmq-server issue 2684).
type consumerRow struct {
	Queue       object[consumerQueue]   `json:"queue"`
	Channel     object[consumerChannel] `json:"channel_details"`
	Tag         word                    `json:"consumer_tag"`
	Prefetch    number                  `json:"prefetch_count"`
	AckRequired flag                    `json:"ack_required"`
}

type consumerQueue struct {
	Vhost word `json:"vhost"`
	Name  word `json:"name"`
}

type consumerChannel struct {
	Name       word `json:"name"`
	Connection word `json:"connection_name"`
}

// Topology reads exchanges, bindings, consumers and connections of all vhosts that the account may see. Consumers is nil
// where the broker does not tell, as with statistics disabled, and so is Connections. A topology changes seldom: read it every few minutes.
func (c *Client) Topology(ctx context.Context) (dedup.Topology, error) {
	if err := c.enter(ctx); err != nil {
		return dedup.Topology{}, err
	}
	defer c.leave()
	topology := dedup.Topology{At: time.Now()}
	var err error
	if topology.Exchanges, err = c.exchanges(ctx); err != nil {
		return dedup.Topology{}, err
	}
	topology.Bindings, err = collect(ctx, c.api, "bindings", bindingColumns, (*bindingRow).binding)
	if err != nil {
		return dedup.Topology{}, err
	}
	topology.Consumers, err = collect(ctx, c.api, "consumers", consumerColumns, (*consumerRow).consumer)
	if err != nil && !withholdsConsumers(err) {
		return dedup.Topology{}, err
	}
	// After the consumers: a connection that ended in between is then missed as a consumer's, not as an open one.
	if topology.Connections, err = c.connections(ctx); err != nil {
		return dedup.Topology{}, err
	}
	topology.Took = time.Since(topology.At)
	return topology, nil
}

// exchanges reads the exchanges with the definitions of their policies, which may name an alternate exchange: the list of
// exchanges tells only the policies' names. Most brokers have none on exchanges and are asked nothing more.
func (c *Client) exchanges(ctx context.Context) ([]dedup.Exchange, error) {
	list, err := collect(ctx, c.api, "exchanges", exchangeColumns, func(x *exchangeRow) exchangeRow { return *x })
	if err != nil {
		return nil, err
	}
	definitions := make(map[policyRef]table)
	if slices.ContainsFunc(list, func(x exchangeRow) bool { return x.Policy != "" }) {
		policies, err := c.policies(ctx, "policies")
		if err != nil {
			return nil, err
		}
		for _, p := range policies {
			definitions[policyRef{p.Vhost, p.Name}] = p.Definition
		}
	}
	all := make([]dedup.Exchange, len(list))
	for i, x := range list {
		all[i] = x.exchange()
		all[i].Policy = definitions[policyRef{x.Vhost, x.Policy}]
	}
	return all, nil
}

type policyRef struct{ vhost, name word }

// The columns that are asked for; the API does not page bindings and consumers.
const (
	exchangeColumns = "vhost,name,type,arguments,policy"
	bindingColumns  = "vhost,source,destination,destination_type,routing_key"
	consumerColumns = "queue,channel_details,consumer_tag,prefetch_count,ack_required"
)

// withholdsConsumers reports whether a broker refused to list consumers, which it does with 400 while statistics are
// disabled and with 401 or 403 to accounts that may not see them.
func withholdsConsumers(err error) bool {
	return hasStatus(err, http.StatusBadRequest) || hasStatus(err, http.StatusForbidden) ||
		KindOf(err) == TagMissing || KindOf(err) == NoPermission
}

// collect reads a whole list and converts its rows. The list is nil only with an error.
func collect[R, T any](ctx context.Context, from *api, list, columns string, convert func(*R) T) ([]T, error) {
	all := []T{}
	stream := rows[R]{each: func(row *R) { all = append(all, convert(row)) }}
	var query url.Values
	if columns != "" {
		query = url.Values{"columns": {columns}}
	}
	if err := from.getTwice(ctx, APIPath(list), query, &stream); err != nil {
		return nil, err
	}
	return all, nil
}

func (x *exchangeRow) exchange() dedup.Exchange {
	return dedup.Exchange{
		Vhost: string(x.Vhost), Name: string(x.Name), Type: string(x.Type),
		Arguments: x.Arguments,
	}
}

func (b *bindingRow) binding() dedup.Binding {
	return dedup.Binding{
		Vhost: string(b.Vhost), Source: string(b.Source), Destination: string(b.Destination),
		DestinationType: string(b.DestinationType), RoutingKey: string(b.RoutingKey),
	}
}

func (r *consumerRow) consumer() dedup.Consumer {
	consumer := dedup.Consumer{
		Queue:   dedup.QueueRef{Vhost: string(r.Queue.value.Vhost), Name: string(r.Queue.value.Name)},
		Channel: string(r.Channel.value.Name), Connection: string(r.Channel.value.Connection), Tag: string(r.Tag), AckRequired: bool(r.AckRequired),
	}
	if r.Prefetch.value != nil {
		consumer.Prefetch = *r.Prefetch.value
	}
	return consumer
}

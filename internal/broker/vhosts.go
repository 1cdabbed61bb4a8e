package broker

import (
	"context"
	"strconv"

	"dedup-dashboard/internal/dedup"
)

// A Vhost is a vhost as the node that was asked describes it.
type Vhost struct {
	Name string
	// Tracing is that of this node alone: each has its own.
	Tracing bool
	// Metadata are description, tags, default queue type and what later versions add.
	Metadata map[string]any
	// Rate is how many messages a second are published and delivered, Bytes how many bytes come and go: up to 5 s old, and nil where the
	// broker does not tell.
	Rate, Bytes *float64
}

// A tracedVhostRow is a vhost of /api/vhosts. Without the tag administrator a single vhost lacks tracing; the list has it.
type tracedVhostRow struct {
	Name     word                `json:"name"`
	Tracing  flag                `json:"tracing"`
	Metadata table               `json:"metadata"`
	Stats    object[vhostStats]  `json:"message_stats"`
	Received object[rateOfVhost] `json:"recv_oct_details"`
	Sent     object[rateOfVhost] `json:"send_oct_details"`
}

type vhostStats struct {
	Published object[rateOfVhost] `json:"publish_details"`
	Delivered object[rateOfVhost] `json:"deliver_get_details"`
}

type rateOfVhost struct {
	Rate rate `json:"rate"`
}

// A rate is a number per second; anything else counts as 0.
type rate float64

// UnmarshalJSON implements json.Unmarshaler.
func (r *rate) UnmarshalJSON(text []byte) error {
	*r = 0
	if v, err := strconv.ParseFloat(string(text), 64); err == nil && v > 0 {
		*r = rate(v)
	}
	return nil
}

// Vhosts lists the vhosts that the account may see.
func (c *Client) Vhosts(ctx context.Context) ([]Vhost, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
	overview, err := c.readOverview(ctx)
	if err != nil {
		return nil, err
	}
	counts := !bool(overview.StatsDisabled) && overview.RatesMode != "none"
	return collect(ctx, c.api, "vhosts", "", func(r *tracedVhostRow) Vhost {
		v := Vhost{Name: string(r.Name), Tracing: bool(r.Tracing), Metadata: r.Metadata}
		if counts { // one in which nothing happened yet has no counters
			messages, octets := float64(r.Stats.value.Published.value.Rate+r.Stats.value.Delivered.value.Rate), float64(r.Received.value.Rate+r.Sent.value.Rate)
			v.Rate, v.Bytes = &messages, &octets
		}
		return v
	})
}

// Node names the node that answers, and Nodes describes all of them.
func (c *Client) Node(ctx context.Context) (string, error) {
	if err := c.enter(ctx); err != nil {
		return "", err
	}
	defer c.leave()
	overview, err := c.readOverview(ctx)
	if err != nil {
		return "", err
	}
	return string(overview.Node), nil
}

// Nodes describes all nodes.
func (c *Client) Nodes(ctx context.Context) ([]dedup.Node, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
	return c.readNodes(ctx)
}

// Tags returns the tags of the account.
func (c *Client) Tags(ctx context.Context) ([]string, error) {
	account, err := c.whoami(ctx)
	return account.Tags, err
}

// CtlLine is a command of rabbitmqctl, for a person to run: every word stands between quotation marks of the shell but for the first, and options.
func CtlLine(command string, words ...string) string {
	line := "rabbitmqctl " + command
	for _, word := range words {
		if word == "-p" || word == "-n" {
			line += " " + word
			continue
		}
		line += " " + shellWord(word)
	}
	return line
}

// SetTracing switches the tracing of a vhost on or off at the node that answers, and nothing else: the request replaces the description, tags
// and default queue type as well, so they are sent along. The account needs the tag administrator.
func (c *Client) SetTracing(ctx context.Context, v Vhost, on bool) error {
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	body := map[string]any{}
	for key, value := range v.Metadata {
		body[key] = value
	}
	if kind, _ := body["default_queue_type"].(string); kind == "undefined" || kind == "" {
		delete(body, "default_queue_type")
	} else {
		body["defaultqueuetype"] = kind // as 3.11 and 3.12 call it
	}
	if tags, _ := body["tags"].([]any); len(tags) == 0 {
		body["tags"] = "" // an empty list fails
	}
	body["tracing"] = on
	return c.api.put(ctx, APIPath("vhosts", v.Name), body)
}

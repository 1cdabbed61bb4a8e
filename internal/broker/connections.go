package broker

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"dedup-dashboard/internal/dedup"
)

// dateLag is by how much the Date of an answer can be behind the broker's clock: it is cut to whole seconds, and the web
// server renews it each second.
const dateLag = 2 * time.Second

type connectionRow struct {
	Name        word   `json:"name"`
	ConnectedAt number `json:"connected_at"` // milliseconds since 1970 by the clock of the connection's node
	Vhost       word   `json:"vhost"`
	Protocol    word   `json:"protocol"`
}

// connections reads the names of the open connections, and when each was opened at the earliest. The list without
// statistics is as old as the request; the one with them, which alone has the time, lacks a connection for its first 5 s.
// It returns nil where the broker does not tell.
func (c *Client) connections(ctx context.Context) ([]dedup.Connection, error) {
	open := make(map[string]int)
	all := []dedup.Connection{}
	add := func(row *connectionRow) {
		name := string(row.Name)
		i, known := open[name]
		if !known {
			i = len(all)
			open[name] = i
			all = append(all, dedup.Connection{Name: name})
		}
		if row.Protocol != "" {
			all[i].Vhost, all[i].Protocol = string(row.Vhost), string(row.Protocol)
		}
		if ms := row.ConnectedAt.value; ms != nil && *ms > 0 && !c.api.date.IsZero() {
			all[i].Opened = time.UnixMilli(*ms).Add(c.api.asked.Sub(c.api.date.Add(dateLag)))
		}
	}
	for _, query := range []url.Values{{"columns": {"name"}, "disable_stats": {"true"}}, {"columns": {"name,connected_at,vhost,protocol"}}} {
		if err := c.api.getTwice(ctx, APIPath("connections"), query, &rows[connectionRow]{each: add}); err != nil {
			if withholdsConsumers(err) || hasStatus(err, http.StatusNotFound) {
				return nil, nil
			}
			return nil, err
		}
	}
	return all, nil
}

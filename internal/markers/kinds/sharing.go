package kinds

import (
	"strings"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/redis"
)

// CommandSharers names the other stores whose Redis has the same address, whatever the database, and whose consumers ask with
// the same command. A server counts the calls of a command for all of them together
// (https://redis.io/docs/latest/commands/info, section commandstats), so that store events of none of them tell a rate
// while others are in use. Another name of the same server is not found.
func CommandSharers(store markers.Config, all []markers.Config) []string {
	server := address(store)
	if store.Kind != markers.RedisString || store.Ask == "" || server == "" {
		return nil
	}
	var names []string
	for _, other := range all {
		if other.Name != store.Name && other.Kind == markers.RedisString && other.Ask == store.Ask && address(other) == server {
			names = append(names, other.Name)
		}
	}
	return names
}

// address names the server that the store is in, without its database; empty when the URL cannot be read.
func address(c markers.Config) string {
	place := redis.Database(c)
	if i := strings.LastIndexByte(place, '/'); i >= 0 {
		return place[:i]
	}
	return ""
}

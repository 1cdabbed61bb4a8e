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
	databases := redis.Databases(append([]markers.Config{store}, all...))
	at := asked(store, databases[0])
	var names []string
	for i, other := range all {
		if at != "" && other.Name != store.Name && asked(other, databases[i+1]) == at {
			names = append(names, other.Name)
		}
	}
	return names
}

// asked names the server that the consumers of a store ask, without its database, and the command; empty where there is none, or the URL cannot be read.
func asked(c markers.Config, database string) string {
	if i := strings.LastIndexByte(database, '/'); i >= 0 && c.Kind == markers.RedisString && c.Ask != "" {
		return database[:i] + " " + c.Ask
	}
	return ""
}

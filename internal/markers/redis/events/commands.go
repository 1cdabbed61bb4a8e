package events

import (
	"strings"

	"dedup-dashboard/internal/markers/redis/client"
)

// The commands that a scheme can ask with, once for each delivery: Config.Ask.
var AskCommands = []string{"SETNX", "SET", "GET", "EXISTS"}

// commandStats is what one answer of INFO says of the commands that a server has run. Calls are those that were executed,
// failed ones too; what was rejected before, as for want of rights, is counted apart by the server
// (https://redis.io/docs/latest/commands/info, section commandstats).
type commandStats struct {
	identity client.Identity
	cluster  bool
	mode     string
	// told is false where the server gives no command statistics.
	known bool
	asked int64
	// infos, processed and resets only rise, unless the statistics were reset.
	infos, processed, resets int64
	// settings counts CONFIG SET: notifications may have been switched off and on again by it.
	settings int64
	// writes are the calls of commands that make notifications, of everybody and on any key.
	writes int64
	// keys are those of the store's database, of anybody.
	keys int64
}

// writeCommands are the usual commands that change a marker.
var writeCommands = []string{"set", "setnx", "setex", "psetex", "getset", "mset", "del", "unlink"}

// commandsOf reads an answer of INFO with the sections server, replication, cluster, stats, commandstats and keyspace.
func commandsOf(i client.Info, ask string, db int) commandStats {
	s := commandStats{identity: i.Identity(), cluster: i["cluster_enabled"] == "1", mode: i.Mode()}
	s.asked = i.Calls(ask)
	s.infos, s.resets, s.settings = i.Calls("info"), i.Calls("config|resetstat"), i.Calls("config|set")
	s.known = s.infos > 0
	if n := i.Number("total_commands_processed"); n != nil {
		s.processed = *n
	}
	s.keys = i.Keys(db)
	for _, c := range writeCommands {
		s.writes += i.Calls(c)
	}
	return s
}

// emptyFlush returns the reading with its flushes as they are now, where those since removed nothing: the database held no key, and what
// was written since would have been heard of. A swap of databases brings keys that nobody heard of.
func (before commandStats) emptyFlush(now commandStats, heard bool) commandStats {
	if before.keys == 0 && !heard && before.identity.Swaps == now.identity.Swaps {
		before.identity.Flushes = now.identity.Flushes
	}
	return before
}

// breaks says why counts cannot go on from one reading to the next, empty when they can.
func (before commandStats) breaks(now commandStats) string {
	if change := before.identity.Change(now.identity); change != "" {
		return change
	}
	switch {
	case now.asked < before.asked, now.infos < before.infos, now.processed < before.processed, now.resets != before.resets:
		return "the server's command statistics were reset"
	case now.settings != before.settings:
		return "the server's settings were changed by CONFIG SET, and notifications may have been off for a moment"
	}
	return ""
}

// refuses says why a server can tell nothing of its markers by notifications, empty where it can.
func (s commandStats) refuses() string {
	switch {
	case s.cluster:
		return "this Redis is a node of a Redis Cluster, where each node notifies of its own keys alone: store events need one server that holds all markers"
	case s.mode == "sentinel":
		return "this is a Redis Sentinel and holds no markers: point redis.url at the primary that it watches"
	case s.identity.Role != "" && s.identity.Role != "master":
		return "this Redis is a replica: consumers ask its primary, so point redis.url there"
	}
	return ""
}

// notifies says whether the server's setting notify-keyspace-events makes it tell of markers, and of evictions too.
func notifies(flags string) bool {
	if !strings.Contains(flags, "K") {
		return false
	}
	if strings.Contains(flags, "A") {
		return true
	}
	for _, class := range []string{"$", "g", "x"} {
		if !strings.Contains(flags, class) {
			return false
		}
	}
	return true
}

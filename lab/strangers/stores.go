package main

import (
	"fmt"
	"time"
)

// store is where the markers are, and how the dashboard is told of them.
type store struct {
	preset, settings string // of the configuration
	scheme           scheme
	// Of Redis: one of the servers of a run, a database of it, and what keys look like.
	server   string
	database int
	prefix   string
	upper    bool
	// Of databases: mysql or postgres, empty for Redis.
	driver string
	tables []string // statements that make them
}

const noRetry = `retry: {match: "", give_up: 0}`

// keys are keys of Redis.
func keys(server, prefix, preset, settings string, s scheme) store {
	return store{preset: preset, settings: settings, scheme: s, server: server, prefix: prefix}
}

// texts are keys that say processing or done; more are further settings.
func texts(server, prefix, more string) store {
	return keys(server, prefix, "redis-text-status", fmt.Sprintf(`match: "%s*", %s, events: true%s`, prefix, noRetry, more), textStatus(300*time.Second, day))
}

// flags are keys that are there once the work is done.
func flags(server, prefix, ask, more string) store {
	return keys(server, prefix, "redis-flag", fmt.Sprintf(`match: "%s*", ask: %s, events: true%s`, prefix, ask, more), doneFlag(ask, day))
}

// jsons are keys with a status in JSON, as the preset has them.
func jsons(server string) store {
	return keys(server, "msg:dedup:", "redis-json-status", "events: true", jsonStatus(300*time.Second, day))
}

// in is a store in another database of Redis.
func (s store) in(database int) store {
	s.database = database
	return s
}

// by is a store whose consumers do otherwise.
func (s store) by(other scheme) store {
	s.scheme = other
	return s
}

// rows are rows of a table.
func rows(driver, preset, settings string, s scheme, tables ...string) store {
	return store{preset: preset, settings: settings, scheme: s, driver: driver, tables: tables}
}

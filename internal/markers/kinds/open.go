package kinds

import (
	"fmt"
	"log/slog"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/redis"
	"dedup-dashboard/internal/markers/sql"
	"dedup-dashboard/internal/markers/sql/act"
)

// Validate returns every problem of the store's description, joined; each is a *FieldError.
func Validate(c markers.Config) error {
	if c.Kind == markers.SQLTable {
		return sql.Validate(c)
	}
	return redis.Validate(c)
}

// Open returns the store that the configuration describes. It does not connect: a server that is down is a matter of
// Stats, not of opening.
func Open(c markers.Config, log *slog.Logger) (markers.Store, error) {
	c, log = c.WithDefaults(), log.With("store", c.Name)
	if err := Validate(c); err != nil {
		return nil, fmt.Errorf("open store %q: %w", c.Name, err)
	}
	if c.Kind == markers.SQLTable {
		return sql.Open(c, log)
	}
	return redis.Open(c, log)
}

// OpenActor returns what changes single markers of the store, and nil without an error when the configuration has no
// account to act with. It does not connect: a server that is down is an outcome of an action.
func OpenActor(c markers.Config, log *slog.Logger) (markers.Actor, error) {
	c, log = c.WithDefaults(), log.With("store", c.Name)
	switch c.Kind {
	case markers.RedisString, markers.RedisLock:
		return redis.OpenActor(c, log)
	case markers.SQLTable:
		return act.Open(c, log)
	}
	return nil, fmt.Errorf("open store %q for acting: markers of kind %q cannot be changed", c.Name, c.Kind)
}

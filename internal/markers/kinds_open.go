package markers

import (
	"fmt"
	"log/slog"
)

// Validate returns every problem of the store's description, joined; each is a *FieldError.
func Validate(c Config) error {
	if c.Kind == kindSQLTable {
		return validateSQL(c)
	}
	return validateRedis(c)
}

// Open returns the store that the configuration describes. It does not connect: a server that is down is a matter of
// Stats, not of opening.
func Open(c Config, log *slog.Logger) (Store, error) {
	c, log = c.withDefaults(), log.With("store", c.Name)
	if err := Validate(c); err != nil {
		return nil, fmt.Errorf("open store %q: %w", c.Name, err)
	}
	if c.Kind == kindSQLTable {
		return openSQLTable(c, log)
	}
	return openRedis(c, log)
}

// OpenActor returns what changes single markers of the store, and nil without an error when the configuration has no
// account to act with. It does not connect: a server that is down is an outcome of an action.
func OpenActor(c Config, log *slog.Logger) (Actor, error) {
	c, log = c.withDefaults(), log.With("store", c.Name)
	switch c.Kind {
	case kindRedisString, kindRedisLock:
		return openRedisActor(c, log)
	case kindSQLTable:
		return openSQLActor(c, log)
	}
	return nil, fmt.Errorf("open store %q for acting: markers of kind %q cannot be changed", c.Name, c.Kind)
}

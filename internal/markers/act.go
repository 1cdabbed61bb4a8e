package markers

import (
	"fmt"
	"log/slog"
)

// actors maps each kind of store to the constructor of its Actor, which returns nil for a store without act settings.
var actors = map[string]func(Config, *slog.Logger) (Actor, error){
	kindRedisString: openRedisActor,
	kindRedisLock:   openRedisActor,
	kindSQLTable:    openSQLActor,
}

// OpenActor returns what changes single markers of the store, and nil without an error when the configuration has no
// account to act with. It does not connect: a server that is down is an outcome of an action.
func OpenActor(cfg Config, log *slog.Logger) (Actor, error) {
	cfg = cfg.withDefaults()
	open, ok := actors[cfg.Kind]
	if !ok {
		return nil, fmt.Errorf("open store %q for acting: markers of kind %q cannot be changed", cfg.Name, cfg.Kind)
	}
	return open(cfg, log.With("store", cfg.Name))
}

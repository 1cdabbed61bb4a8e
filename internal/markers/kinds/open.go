package kinds

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/markers/redis"
	"dedup-dashboard/internal/markers/redis/hash"
	"dedup-dashboard/internal/markers/redis/lock"
	"dedup-dashboard/internal/markers/sql"
	"dedup-dashboard/internal/markers/sql/act"
)

// A kind is what notes the problems of a description, and what opens a store for watching and for acting.
type kind struct {
	check func(*markers.Problems, markers.Config)
	watch func(markers.Config, *slog.Logger) (markers.Store, error)
	act   func(markers.Config, *slog.Logger) (markers.Actor, error)
}

// byName returns every kind.
func byName() map[string]kind {
	ofRedis := func(k redis.Kind) kind { return kind{k.Check, k.Open, k.OpenActor} }
	return map[string]kind{
		markers.RedisString: ofRedis(redis.Strings()),
		markers.RedisHash:   ofRedis(redis.Kind{Problems: hash.Problems, Form: hash.Form}),
		markers.RedisLock:   ofRedis(redis.Kind{Problems: lock.Problems, Form: lock.Form}),
		markers.SQLTable:    {sql.Check, sql.Open, act.Open},
	}
}

// Validate returns every problem of the store's description, joined; each is a *FieldError.
func Validate(c markers.Config) error {
	c = c.WithDefaults()
	var p markers.Problems
	if all := byName(); p.Begin(c, slices.Sorted(maps.Keys(all))) {
		all[c.Kind].check(&p, c)
		p.OnlyFor(markers.RedisHash, "fields", c.Kind != markers.RedisHash && c.Fields != (markers.Fields{}))
	}
	return errors.Join(p...)
}

// Open returns the store that the configuration describes. It does not connect: a server that is down is a matter of
// Stats, not of opening.
func Open(c markers.Config, log *slog.Logger) (markers.Store, error) {
	c = c.WithDefaults()
	if err := Validate(c); err != nil {
		return nil, fmt.Errorf("open store %q: %w", c.Name, err)
	}
	return byName()[c.Kind].watch(c, log.With("store", c.Name))
}

// OpenActor returns what changes single markers of the store, and nil without an error when the configuration has no
// account to act with. It does not connect: a server that is down is an outcome of an action.
func OpenActor(c markers.Config, log *slog.Logger) (markers.Actor, error) {
	k, known := byName()[c.Kind]
	if !known {
		return nil, fmt.Errorf("open store %q for acting: markers of kind %q cannot be changed", c.Name, c.Kind)
	}
	return k.act(c.WithDefaults(), log.With("store", c.Name))
}

package shop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"dedup-dashboard/lab/servers"
)

// stores are the shop's Redis servers. Redis counts its commands per server, so that store events stand against them only
// where nobody else asks: some pipelines have a server of their own, and the others share one as most teams do.
type stores struct {
	shared *servers.Redis // nil where every pipeline has its own
	own    map[string]*servers.Redis
}

// startStores starts the servers that the configuration asks for. What it started before an error is in the result.
func startStores(ctx context.Context, config Config, a *access, f *folder) (stores, error) {
	s := stores{own: make(map[string]*servers.Redis)}
	start := func(name string) (*servers.Redis, error) {
		dir := filepath.Join("redis", name)
		arguments, err := a.redisArguments(ctx, f, dir)
		if err != nil {
			return nil, err
		}
		return servers.StartRedis(ctx, servers.RedisOptions{Dir: f.file(dir), Args: arguments})
	}
	for _, pipeline := range config.Pipelines {
		var err error
		switch {
		case pipeline.OwnStore:
			// A failed start must leave no entry: all entries are stopped.
			var server *servers.Redis
			if server, err = start(pipeline.Name); err == nil {
				s.own[pipeline.Name] = server
			}
		case s.shared == nil:
			s.shared, err = start("shared")
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// of is the server of a pipeline's markers.
func (s stores) of(pipeline string) *servers.Redis {
	if own := s.own[pipeline]; own != nil {
		return own
	}
	return s.shared
}

func (s stores) all() []*servers.Redis {
	var all []*servers.Redis
	if s.shared != nil {
		all = append(all, s.shared)
	}
	for _, server := range s.own {
		all = append(all, server)
	}
	return all
}

// stop ends all servers at the same time; one that was stopped before is no error.
func (s stores) stop(ctx context.Context) error {
	return s.each(func(server *servers.Redis) error {
		if err := server.Stop(ctx); !errors.Is(err, os.ErrClosed) {
			return err
		}
		return nil
	})
}

// restart brings all servers back on their ports, with the data that they had.
func (s stores) restart(ctx context.Context) error {
	return s.each(func(server *servers.Redis) error { return server.Restart(ctx) })
}

func (s stores) each(do func(*servers.Redis) error) error {
	all := s.all()
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, server := range all {
		group.Go(func() { errs[i] = do(server) })
	}
	group.Wait()
	return errors.Join(errs...)
}

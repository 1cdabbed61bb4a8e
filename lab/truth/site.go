package truth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"dedup-dashboard/lab/servers"
)

// sharedRedis is the name of the Redis server that several cases use.
const sharedRedis = "shared"

// A site is the private servers of a run. They are started once and used by one seed after the other.
type site struct {
	dir    string
	rabbit *servers.RabbitMQ
	// redis are the Redis servers: one for each case that needs its commands to itself, and a shared one.
	redis    map[string]*servers.Redis
	mariadb  *servers.MariaDB
	postgres *servers.Postgres
}

// isRedis says whether the scheme keeps its markers in Redis.
func (c Case) isRedis() bool { return strings.HasPrefix(string(c.Scheme), "R") }

// redisName is the name of the Redis server of a case.
func (c Case) redisName() string {
	if c.SharesServer {
		return sharedRedis
	}
	return cmp.Or(c.StoreOf, c.Name)
}

// openSite starts what the cases need.
func openSite(ctx context.Context, dir string, cases []Case) (_ *site, err error) {
	s := &site{dir: dir, redis: map[string]*servers.Redis{}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	s.rabbit, err = servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{Dir: filepath.Join(dir, "rabbitmq"), Prometheus: true})
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		if err := s.start(ctx, c); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// start starts the store server of a case, if it does not run yet.
func (s *site) start(ctx context.Context, c Case) (err error) {
	switch {
	case c.isRedis() && s.redis[c.redisName()] == nil:
		server, err := servers.StartRedis(ctx, servers.RedisOptions{Dir: filepath.Join(s.dir, "redis-"+c.redisName()),
			Args: []string{"--notify-keyspace-events", "K$gxem"}})
		if err != nil {
			return err
		}
		s.redis[c.redisName()] = server
	case strings.HasSuffix(string(c.Scheme), "MariaDB") && s.mariadb == nil:
		s.mariadb, err = servers.StartMariaDB(ctx, servers.SQLOptions{Dir: filepath.Join(s.dir, "mariadb"), Args: []string{"--performance-schema=ON"}})
	case strings.Contains(string(c.Scheme), "PostgreSQL") && s.postgres == nil:
		s.postgres, err = servers.StartPostgres(ctx, servers.SQLOptions{Dir: filepath.Join(s.dir, "postgres"), Args: []string{"-c", "shared_preload_libraries=pg_stat_statements"}})
	}
	return err
}

// close stops every server that was started.
func (s *site) close() {
	if s.rabbit != nil {
		s.rabbit.Kill()
	}
	for _, r := range s.redis {
		r.Kill()
	}
	if s.mariadb != nil {
		s.mariadb.Kill()
	}
	if s.postgres != nil {
		s.postgres.Kill()
	}
}

// database makes an empty database for one case and returns its address, with the names of the driver for database/sql and in the
// configuration of a store.
func (s *site) database(ctx context.Context, c Case, seed uint64) (dsn, driver, configured string, err error) {
	name := fmt.Sprintf("%s_%d", strings.ReplaceAll(c.Name, "-", "_"), seed)
	if strings.HasSuffix(string(c.Scheme), "MariaDB") {
		return s.mariadb.AdminDSN(name), "mysql", "mysql", s.mariadb.CreateDatabase(ctx, name)
	}
	if err := s.postgres.CreateDatabase(ctx, name); err != nil {
		return "", "", "", err
	}
	return s.postgres.AdminDSN(name), "pgx", "postgres", s.postgres.Exec(ctx, name, "CREATE EXTENSION pg_stat_statements")
}

// versions names the servers that a run used.
func (s *site) versions(ctx context.Context) (string, error) {
	var overview struct {
		Version string `json:"rabbitmq_version"`
	}
	var names []string
	errs := []error{s.rabbit.API(ctx, "GET", "/api/overview", nil, &overview)}
	names = append(names, "RabbitMQ "+overview.Version)
	add := func(name, version string, err error) {
		names, errs = append(names, name+" "+version), append(errs, err)
	}
	for _, r := range s.redis {
		v, err := redisVersion(ctx, r.Addr())
		add("Redis", v, err)
		break
	}
	if s.mariadb != nil {
		v, err := sqlVersion(ctx, "mysql", s.mariadb.AdminDSN(""), "SELECT VERSION()")
		add("MariaDB", v, err)
	}
	if s.postgres != nil {
		v, err := sqlVersion(ctx, "pgx", s.postgres.AdminDSN(""), "SHOW server_version")
		add("PostgreSQL", v, err)
	}
	return strings.Join(names, ", "), errors.Join(errs...)
}

package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"

	"dedup-dashboard/lab/servers"
)

// What the dashboard may do at the broker.
const (
	watcher         = "watcher"
	watcherPassword = "watching"
)

// quietServer is the Redis that tells nothing of keys that were missed.
const quietServer = "n"

// backends are the servers of a run: a broker, and the stores that the pipelines need.
type backends struct {
	folder   string
	rabbit   *servers.RabbitMQ
	url      string
	conn     *amqp.Connection
	redis    map[string]*servers.Redis
	maria    *servers.MariaDB
	postgres *servers.Postgres
	closers  []func()
}

// startBackends starts the broker; close ends what was started, also after an error.
func startBackends(ctx context.Context, folder string) (*backends, error) {
	b := &backends{folder: folder, redis: map[string]*servers.Redis{}}
	var err error
	b.rabbit, err = servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{Dir: filepath.Join(folder, "rabbitmq"), Prometheus: true})
	if err != nil {
		return b, err
	}
	b.closers = append(b.closers, b.rabbit.Kill)
	if err := b.rabbit.PutUser(ctx, watcher, watcherPassword, "monitoring"); err != nil {
		return b, err
	}
	if err := b.rabbit.PutPermissions(ctx, "/", watcher, servers.Permissions{Configure: "^$", Write: "^$", Read: "^$"}); err != nil {
		return b, err
	}
	b.url = b.rabbit.AMQPURL(b.rabbit.Admin())
	if b.conn, err = amqp.Dial(b.url); err != nil {
		return b, err
	}
	b.closers = append(b.closers, func() { b.conn.Close() })
	return b, nil
}

// close ends all in the reverse order.
func (b *backends) close() {
	for _, end := range slices.Backward(b.closers) {
		end()
	}
}

// prepare makes all that a pipeline needs, and returns its store's line of the configuration.
func (b *backends) prepare(ctx context.Context, p *pipeline) (line string, err error) {
	p.url = b.url
	address, err := b.connect(ctx, p)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.name, err)
	}
	if p.publisher, err = b.conn.Channel(); err != nil {
		return "", err
	}
	return p.storeLine(address), p.declare(p.publisher)
}

// connect opens the store of a pipeline and returns its address.
func (b *backends) connect(ctx context.Context, p *pipeline) (address string, err error) {
	database := strings.ReplaceAll(p.name, "-", "_")
	switch p.driver {
	case "mysql":
		address, p.db, err = b.openMaria(ctx, database)
	case "postgres":
		address, p.db, err = b.openPostgres(ctx, database)
	default:
		return b.openRedis(ctx, p)
	}
	if err != nil {
		return "", err
	}
	p.db.SetMaxOpenConns(10)
	p.db.SetMaxIdleConns(10)
	b.closers = append(b.closers, func() { p.db.Close() })
	for _, statement := range p.tables {
		if _, err := p.db.ExecContext(ctx, statement); err != nil {
			return "", err
		}
	}
	return address, nil
}

func (b *backends) openRedis(ctx context.Context, p *pipeline) (address string, err error) {
	s := b.redis[p.server]
	if s == nil {
		notify := "K$gxem"
		if p.server == quietServer {
			notify = "K$gxe"
		}
		if s, err = servers.StartRedis(ctx, servers.RedisOptions{Dir: filepath.Join(b.folder, "redis-"+p.server), Args: []string{"--notify-keyspace-events", notify}}); err != nil {
			return "", err
		}
		b.redis[p.server] = s
		b.closers = append(b.closers, s.Kill)
	}
	p.redis = redis.NewClient(&redis.Options{Addr: s.Addr(), DB: p.database, PoolSize: 40})
	b.closers = append(b.closers, func() { p.redis.Close() })
	return fmt.Sprintf("redis://%s/%d", s.Addr(), p.database), nil
}

func (b *backends) openMaria(ctx context.Context, database string) (dsn string, db *sql.DB, err error) {
	if b.maria == nil {
		if b.maria, err = servers.StartMariaDB(ctx, servers.SQLOptions{Dir: filepath.Join(b.folder, "mariadb"), Args: []string{"--performance-schema=ON"}}); err != nil {
			return "", nil, err
		}
		b.closers = append(b.closers, b.maria.Kill)
	}
	if err := b.maria.CreateDatabase(ctx, database); err != nil {
		return "", nil, err
	}
	dsn = b.maria.AdminDSN(database)
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return "", nil, err
	}
	config.InterpolateParams = true
	db, err = sql.Open("mysql", config.FormatDSN())
	return dsn, db, err
}

func (b *backends) openPostgres(ctx context.Context, database string) (dsn string, db *sql.DB, err error) {
	if b.postgres == nil {
		options := servers.SQLOptions{Dir: filepath.Join(b.folder, "postgres"), Args: []string{"-c", "shared_preload_libraries=pg_stat_statements"}}
		if b.postgres, err = servers.StartPostgres(ctx, options); err != nil {
			return "", nil, err
		}
		b.closers = append(b.closers, b.postgres.Kill)
	}
	if err := b.postgres.CreateDatabase(ctx, database); err != nil {
		return "", nil, err
	}
	if err := b.postgres.Exec(ctx, database, "CREATE EXTENSION pg_stat_statements"); err != nil {
		return "", nil, err
	}
	dsn = b.postgres.AdminDSN(database)
	db, err = sql.Open("pgx", dsn)
	return dsn, db, err
}

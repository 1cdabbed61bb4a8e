package truth

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"dedup-dashboard/internal/markers"
	"dedup-dashboard/internal/secret"
	"dedup-dashboard/lab/schemes"
)

// A bed is the store of one case: how the dashboard sees it, and what its consumers do to it.
type bed struct {
	config   markers.Config
	consumer func(worker) schemes.Consumer
	// report counts an outcome for the dashboard; nil where the consumers of the case report nothing.
	report func(ctx context.Context, outcome string) error
	close  func() error
}

// presets are the descriptions under which the dashboard knows the schemes.
var presets = map[Scheme]string{
	R1: "redis-json-status", R3: "redis-text-status", R5: "redis-flag", R6: "redis-timestamp",
	D1MariaDB: "sql-status-code", D2MariaDB: "sql-status-code", D3Postgres: "sql-status-name", D3Deletes: "sql-status-name",
}

// openBed empties and opens the store of a case.
func (s *site) openBed(ctx context.Context, c Case, seed uint64) (*bed, error) {
	config, ok := markers.Preset(presets[c.Scheme])
	if !ok {
		return nil, fmt.Errorf("case %s: there is no preset for scheme %s", c.Name, c.Scheme)
	}
	config.Name = c.Name
	if c.isRedis() {
		return s.openRedis(ctx, c, config)
	}
	return s.openTable(ctx, c, config, seed)
}

func (s *site) openRedis(ctx context.Context, c Case, config markers.Config) (*bed, error) {
	server := s.redis[c.redisName()]
	config.Redis.URL = secret.New(server.URL())
	listen(&config)
	if c.Knobs.ClaimTTL > 0 {
		config.TTL.Processing = c.Knobs.ClaimTTL
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), PoolSize: c.Knobs.Channels + 2})
	client.AddHook(timedCommands{})
	commands := [][]any{{"FLUSHALL"}, {"CONFIG", "RESETSTAT"}}
	if c.Reports {
		// Consumers that have reported before: the dashboard sees each counter at 0 before the first message.
		commands = append(commands, []any{"HSET", "dedupstats:" + c.Name, "processed", 0, "duplicate_done", 0, "duplicate_in_flight", 0, "failed", 0})
	}
	for _, command := range commands {
		if err := client.Do(ctx, command...).Err(); err != nil {
			return nil, fmt.Errorf("empty the store of %s: %w", c.Name, err)
		}
	}
	b := &bed{config: config, close: client.Close}
	if c.Reports {
		b.report = func(ctx context.Context, outcome string) error {
			return client.HIncrBy(ctx, "dedupstats:"+c.Name, outcome, 1).Err()
		}
	}
	b.consumer = func(w worker) schemes.Consumer {
		switch c.Scheme {
		case R1:
			return schemes.R1{Redis: client, Work: w.work, TTL: c.Knobs.ClaimTTL}
		case R3:
			return schemes.R3{Redis: client, Work: w.work, TTL: c.Knobs.ClaimTTL, Claimed: w.claimed}
		case R5:
			return schemes.R5{Redis: client, Work: w.work}
		}
		return schemes.R6{Redis: client, Work: w.work}
	}
	return b, nil
}

// tables make the tables of the schemes, as their users do.
var tables = map[Scheme]string{
	D1MariaDB: `CREATE TABLE message_dedup (id BIGINT AUTO_INCREMENT PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, business_key VARCHAR(128),
		status TINYINT DEFAULT 0, result TEXT, created_at DATETIME DEFAULT CURRENT_TIMESTAMP, updated_at DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
		KEY (created_at))`,
	D2MariaDB: `CREATE TABLE message_process_log (message_id VARCHAR(64) PRIMARY KEY, business_key VARCHAR(128) NOT NULL, process_status TINYINT NOT NULL,
		process_time TIMESTAMP DEFAULT CURRENT_TIMESTAMP, expire_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)`,
	D3Postgres: `CREATE TABLE consumed_messages (id BIGSERIAL PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, biz_id VARCHAR(64),
		status VARCHAR(16) NOT NULL, create_time TIMESTAMP(3) NOT NULL)`,
	D3Deletes: `CREATE TABLE consumed_messages (id BIGSERIAL PRIMARY KEY, message_id VARCHAR(64) NOT NULL UNIQUE, biz_id VARCHAR(64),
		status VARCHAR(16) NOT NULL, create_time TIMESTAMP(3) NOT NULL)`,
}

func (s *site) openTable(ctx context.Context, c Case, config markers.Config, seed uint64) (*bed, error) {
	dsn, driver, configured, err := s.database(ctx, c, seed)
	if err != nil {
		return nil, fmt.Errorf("make the database of %s: %w", c.Name, err)
	}
	db, err := sql.Open(driver, spoken(c, dsn))
	if err != nil {
		return nil, fmt.Errorf("open the database of %s: %w", c.Name, err)
	}
	db.SetMaxOpenConns(c.Knobs.Channels)
	db.SetMaxIdleConns(c.Knobs.Channels)
	if _, err := db.ExecContext(ctx, tables[c.Scheme]); err != nil {
		return nil, fmt.Errorf("make the table of %s: %w", c.Name, err)
	}
	config.SQL = markers.SQL{Driver: configured, DSN: secret.New(dsn)}
	describe(&config, c.Scheme)
	table := schemes.Table{DB: db, Postgres: driver == "pgx"}
	return &bed{config: config, close: db.Close, consumer: func(w worker) schemes.Consumer {
		switch c.Scheme {
		case D1MariaDB:
			return schemes.D1{Table: table, Work: w.work}
		case D2MariaDB:
			return schemes.D2{Table: table, Work: w.work}
		}
		return schemes.D3{Table: table, Work: w.work, DeleteFailed: c.Scheme == D3Deletes}
	}}, nil
}

// spoken has the consumers of D2 send their values within the text of each statement, as those of most languages do: MariaDB counts no
// server-side prepared statement.
func spoken(c Case, dsn string) string {
	if c.Scheme != D2MariaDB {
		return dsn
	}
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return dsn
	}
	config.InterpolateParams = true
	return config.FormatDSN()
}

// describe says what differs from the preset.
func describe(config *markers.Config, scheme Scheme) {
	switch scheme {
	case D2MariaDB:
		config.Table, config.Transactional, config.OnFail, config.TTL.Done = "message_process_log", true, "delete", 24*time.Hour
		config.Columns = markers.Columns{ID: markers.ColumnList{"message_id"}, BusinessKey: "business_key", Status: "process_status",
			Created: "process_time", Expires: "expire_time"}
	case D3Deletes:
		config.OnFail = "delete"
	}
}

// listen switches the store's events on.
func listen(config *markers.Config) { config.Events = true }

func redisVersion(ctx context.Context, addr string) (string, error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	info, err := client.Info(ctx, "server").Result()
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, "redis_version:"); ok {
			return strings.TrimSpace(v), err
		}
	}
	return "", err
}

func sqlVersion(ctx context.Context, driver, dsn, query string) (version string, err error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return "", err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, query).Scan(&version)
	return version, err
}

// Command strangers tries the dashboard with consumers that its makers have not seen: some forty pipelines in four batches, each with a
// ledger of what truly happened, beside the real program. It writes ledgers and all that the API said into a folder, and judges it.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"

	"dedup-dashboard/lab/servers"
)

type options struct {
	batch               int
	out, only, interval string
	span, rest, head    time.Duration
	program, judge      string
}

func main() {
	var o options
	flag.IntVar(&o.batch, "batch", 1, "which pipelines: 1, 2, 3 or 4 (4: what was found)")
	flag.StringVar(&o.out, "out", filepath.Join(os.TempDir(), "dedup-strangers"), "folder of servers and results; emptied first")
	flag.StringVar(&o.only, "only", "", "names of pipelines, with commas")
	flag.StringVar(&o.interval, "interval", "5s", "collector.interval")
	flag.DurationVar(&o.span, "for", 390*time.Second, "how long messages are sent")
	flag.DurationVar(&o.rest, "rest", 40*time.Second, "how long is watched after that")
	flag.DurationVar(&o.head, "head", -5*time.Second, "when traffic begins after the dashboard (negative), or before it (positive)")
	flag.StringVar(&o.program, "program", "", "the dashboard")
	flag.StringVar(&o.judge, "judge", "", "only judge the results in this folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if o.judge == "" {
		if err := run(ctx, o); err != nil {
			log.Fatal(err)
		}
		o.judge = o.out
	}
	if err := judgeAll(o.judge, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

const token = "strangers-0123456789abcdef0123456789abcdef"

func run(ctx context.Context, o options) error {
	pipes := batchOne()
	switch o.batch {
	case 2:
		pipes = batchTwo()
	case 3:
		pipes = batchThree()
	case 4:
		pipes = batchFour()
	}
	if o.only != "" {
		names := strings.Split(o.only, ",")
		pipes = slices.DeleteFunc(pipes, func(p *pipe) bool { return !slices.Contains(names, p.name) })
	}
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	log.Print("starting servers")
	rabbit, err := servers.StartRabbitMQ(ctx, servers.RabbitMQOptions{Dir: filepath.Join(o.out, "rabbitmq"), Prometheus: true})
	if err != nil {
		return err
	}
	defer rabbit.Kill()
	user, password := rabbit.Admin()
	url := rabbit.AMQPURL(user, password)
	if err := rabbit.PutUser(ctx, "watcher", "watching", "monitoring"); err != nil {
		return err
	}
	if err := rabbit.PutPermissions(ctx, "/", "watcher", servers.Permissions{Configure: "^$", Write: "^$", Read: "^$"}); err != nil {
		return err
	}
	stores := map[string]*servers.Redis{}
	var maria *servers.MariaDB
	var pg *servers.Postgres
	conn, err := amqp.Dial(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, p := range pipes {
		p.url, p.ledger = url, newLedger()
		switch {
		case p.sql == "mysql":
			if maria == nil {
				if maria, err = servers.StartMariaDB(ctx, servers.SQLOptions{Dir: filepath.Join(o.out, "mariadb"), Args: []string{"--performance-schema=ON"}}); err != nil {
					return err
				}
				defer maria.Kill()
			}
			name := strings.ReplaceAll(p.name, "-", "_")
			if err := maria.CreateDatabase(ctx, name); err != nil {
				return err
			}
			dsn := maria.AdminDSN(name)
			p.store = strings.ReplaceAll(p.store, "DSN", dsn)
			config, err := mysql.ParseDSN(dsn)
			if err != nil {
				return err
			}
			config.InterpolateParams = true
			if p.db, err = sql.Open("mysql", config.FormatDSN()); err != nil {
				return err
			}
		case p.sql == "pgx":
			if pg == nil {
				if pg, err = servers.StartPostgres(ctx, servers.SQLOptions{Dir: filepath.Join(o.out, "postgres"), Args: []string{"-c", "shared_preload_libraries=pg_stat_statements"}}); err != nil {
					return err
				}
				defer pg.Kill()
			}
			name := strings.ReplaceAll(p.name, "-", "_")
			if err := pg.CreateDatabase(ctx, name); err != nil {
				return err
			}
			if err := pg.Exec(ctx, name, "CREATE EXTENSION pg_stat_statements"); err != nil {
				return err
			}
			p.store = strings.ReplaceAll(p.store, "DSN", pg.AdminDSN(name))
			if p.db, err = sql.Open("pgx", pg.AdminDSN(name)); err != nil {
				return err
			}
		default:
			if stores[p.server] == nil {
				s, err := servers.StartRedis(ctx, servers.RedisOptions{Dir: filepath.Join(o.out, "redis-"+p.server), Args: []string{"--notify-keyspace-events", map[bool]string{true: "K$gxe", false: "K$gxem"}[p.server == "n"]}})
				if err != nil {
					return err
				}
				defer s.Kill()
				stores[p.server] = s
			}
			s := stores[p.server]
			p.redis = redis.NewClient(&redis.Options{Addr: s.Addr(), DB: p.db0, PoolSize: 40})
			defer p.redis.Close()
			p.store = strings.ReplaceAll(p.store, "REDIS", fmt.Sprintf("redis://%s/%d", s.Addr(), p.db0))
		}
		if p.db != nil {
			p.db.SetMaxOpenConns(10)
			p.db.SetMaxIdleConns(10)
			defer p.db.Close()
			for _, t := range p.tables {
				if _, err := p.db.ExecContext(ctx, t); err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
			}
		}
		if p.publish, err = conn.Channel(); err != nil {
			return err
		}
		if err := p.declare(p.publish); err != nil {
			return err
		}
	}
	port, err := servers.FreePort()
	if err != nil {
		return err
	}
	listen := fmt.Sprintf("127.0.0.1:%d", port)
	var text strings.Builder
	fmt.Fprintf(&text, "server: {listen: %q, data_dir: %q}\ncollector: {interval: %s}\n", listen, filepath.Join(o.out, "data"), o.interval)
	fmt.Fprintf(&text, "brokers:\n  - {name: main, management_url: %q, username: watcher, password: watching, prometheus_urls: [%q]}\nstores:\n", rabbit.ManagementURL(), rabbit.PrometheusURL())
	for _, p := range pipes {
		fmt.Fprintf(&text, "  - %s\n", p.store)
	}
	fmt.Fprintf(&text, "pipelines:\n")
	for _, p := range pipes {
		fmt.Fprintf(&text, "  - %s\n", p.config)
	}
	fmt.Fprintf(&text, "auth: {tokens: [{name: strangers, role: operator, token: %q}]}\n", token)
	config := filepath.Join(o.out, "my.yaml")
	if err := os.WriteFile(config, []byte(text.String()), 0o600); err != nil {
		return err
	}
	program := o.program
	if program == "" {
		if program, err = servers.BuildDashboard(ctx, o.out); err != nil {
			return err
		}
	}
	check, err := exec.CommandContext(ctx, program, "check", "-config", config).CombinedOutput()
	if err := errors.Join(os.WriteFile(filepath.Join(o.out, "check.txt"), check, 0o600)); err != nil {
		return err
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 {
		return fmt.Errorf("the configuration is refused:\n%s", check)
	}
	producing, stopProducing := context.WithCancel(ctx)
	consuming, stopConsuming := context.WithCancel(ctx)
	watching, stopWatching := context.WithCancel(ctx)
	defer stopProducing()
	defer stopConsuming()
	defer stopWatching()
	var everything, watchers sync.WaitGroup
	var begun time.Time
	traffic := func() {
		log.Print("traffic begins")
		begun = time.Now()
		for _, p := range pipes {
			p.run(producing, consuming, &everything)
		}
	}
	watchers.Go(func() { watchDead(watching, url, pipes) })
	if o.head > 0 {
		traffic()
		sleep(ctx, o.head)
	}
	out, err := os.Create(filepath.Join(o.out, "dashboard.log"))
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(program, "serve", "-config", config)
	cmd.Stdout, cmd.Stderr = out, out
	dashboard, err := servers.StartProcess(cmd)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(background, 15*time.Second)
		defer cancel()
		_ = dashboard.Stop(ctx)
	}()
	log.Printf("the dashboard runs as %d on %s", dashboard.PID(), listen)
	v := &viewer{folder: o.out, base: "http://" + listen, pipes: pipes, pid: dashboard.PID()}
	watchers.Go(func() { v.watch(watching) })
	if o.head <= 0 {
		sleep(ctx, -o.head)
		traffic()
	}
	stopAt := time.After(o.span)
	half := time.After(o.span / 2)
loop:
	for {
		select {
		case <-ctx.Done():
			break loop
		case <-dashboard.Done():
			return fmt.Errorf("the dashboard ended: %w", dashboard.Err())
		case <-half:
			v.pages(ctx, "half")
		case <-stopAt:
			break loop
		}
	}
	log.Print("nothing more is sent")
	ended := time.Now()
	stopProducing()
	sleep(ctx, o.rest)
	v.pages(ctx, "end")
	stopWatching()
	watchers.Wait()
	stopConsuming()
	everything.Wait()
	for _, p := range pipes {
		if err := writeLedger(o.out, p, begun, ended); err != nil {
			return err
		}
		log.Printf("%-14s %d deliveries, %d events, %d troubles, last: %v", p.name, p.ledger.received, len(p.ledger.events), p.trouble.Load(), p.last.Load())
	}
	return nil
}

// A record is what is kept of one pipeline.
type record struct {
	Name         string
	Begun, Ended int64
	Config       string
	Events       []event
	Done         map[string]int
}

func writeLedger(folder string, p *pipe, begun, ended time.Time) error {
	p.ledger.mu.Lock()
	defer p.ledger.mu.Unlock()
	return writeZipped(filepath.Join(folder, "ledger-"+p.name+".json.gz"), record{p.name, begun.UnixMicro(), ended.UnixMicro(), p.store + "\n" + p.config, p.ledger.events, p.ledger.done})
}

func writeZipped(path string, v any) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	return errors.Join(json.NewEncoder(z).Encode(v), z.Close(), f.Close())
}

// A viewer asks the API again and again.
type viewer struct {
	folder, base string
	pipes        []*pipe
	pid          int
	late         atomic.Int64
}

// An answer is one line of answers.json.gz.
type answer struct {
	At   int64           `json:"at"`
	Name string          `json:"name"`
	Load string          `json:"load,omitempty"`
	Late float64         `json:"late,omitempty"` // how late this program was woken at most, in seconds
	Body json.RawMessage `json:"body,omitempty"`
}

func (v *viewer) get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", path, a.Status, text)
	}
	return text, err
}

func (v *viewer) watch(ctx context.Context) {
	f, err := os.Create(filepath.Join(v.folder, "answers.json.gz"))
	if err != nil {
		log.Print(err)
		return
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	defer z.Close()
	enc := json.NewEncoder(z)
	go func() { // how late are we woken?
		for ctx.Err() == nil {
			began := time.Now()
			time.Sleep(10 * time.Millisecond)
			if late := time.Since(began) - 10*time.Millisecond; int64(late) > v.late.Load() {
				v.late.Store(int64(late))
			}
		}
	}()
	for sleep(ctx, 5*time.Second) {
		load, _ := os.ReadFile("/proc/loadavg")
		_ = enc.Encode(answer{At: now(), Load: string(bytes.TrimSpace(load)), Late: float64(v.late.Swap(0)) / 1e9})
		for _, p := range v.pipes {
			text, err := v.get(ctx, "/api/v1/pipelines/"+p.name)
			if err != nil {
				if ctx.Err() == nil {
					log.Print(err)
				}
				continue
			}
			if err := enc.Encode(answer{At: now(), Name: p.name, Body: text}); err != nil {
				log.Print(p.name, err)
			}
		}
	}
}

func (v *viewer) pages(ctx context.Context, when string) {
	paths := map[string]string{"overview": "/"}
	for _, p := range v.pipes {
		paths[p.name] = "/pipelines/" + p.name
	}
	for name, path := range paths {
		text, err := v.get(ctx, path)
		if err != nil {
			log.Print(err)
		}
		_ = os.WriteFile(filepath.Join(v.folder, "page-"+when+"-"+name+".html"), text, 0o600)
	}
}

package servers

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx of database/sql
)

// Postgres is a private PostgreSQL server on a free loopback port. Its methods must not be called at the same time,
// save Exec and those that return addresses.
type Postgres struct {
	options  SQLOptions
	root     root
	port     int
	password string
	account  *syscall.Credential // nil: our own
	programs string              // the folder of initdb and postgres
	process  *Process
	logFile  func() error
}

// StartPostgres makes an empty server in its folder, which must hold none yet, and returns when it answers. Committed
// rows survive Kill; they would not survive a crash of the machine, because nothing is forced to disk.
func StartPostgres(ctx context.Context, options SQLOptions) (*Postgres, error) {
	options, err := options.absolute()
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	server := &Postgres{options: options, password: newPassword()}
	if err := server.install(ctx); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	for attempt := 1; ; attempt++ {
		ports, err := freePorts(1)
		if err != nil {
			return nil, fmt.Errorf("start PostgreSQL: %w", err)
		}
		server.port = ports[0]
		err = server.boot(ctx)
		if err == nil {
			return server, nil
		}
		if attempt == bootAttempts || !isPortConflict(err.Error()) {
			return nil, err
		}
	}
}

// Addr is the host and port of the server.
func (p *Postgres) Addr() string { return loopback(p.port) }

// DSN is the address of a database for an account, as a postgres:// URL.
func (p *Postgres) DSN(user, password, database string) string {
	address := url.URL{Scheme: "postgres", Host: p.Addr(), User: url.UserPassword(user, password), Path: "/" + database,
		RawQuery: "sslmode=disable"}
	return address.String()
}

// AdminDSN is the address of a database, postgres when the name is empty, for an account that may do everything.
func (p *Postgres) AdminDSN(database string) string {
	if database == "" {
		database = "postgres"
	}
	return p.DSN(sqlAdmin, p.password, database)
}

// Exec runs statements as the administrator, in the database if it is named.
func (p *Postgres) Exec(ctx context.Context, database string, statements ...string) error {
	return execute(ctx, "pgx", p.AdminDSN(database), statements)
}

// CreateDatabase makes an empty database. Its name must be a plain identifier.
func (p *Postgres) CreateDatabase(ctx context.Context, name string) error {
	return p.Exec(ctx, "", `CREATE DATABASE "`+name+`"`)
}

// CreateUser makes an account that may do nothing with tables until something is granted to it. The name must be a
// plain identifier, and the password must hold no quotes.
func (p *Postgres) CreateUser(ctx context.Context, name, password string) error {
	return p.Exec(ctx, "", `CREATE ROLE "`+name+`" LOGIN PASSWORD '`+password+`'`)
}

// PID is the process id of the server as it was last started.
func (p *Postgres) PID() int { return p.process.PID() }

// Stop ends the server and its sessions, by SIGKILL when it does not end before ctx does or within half a minute.
func (p *Postgres) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	// SIGINT is the fast shutdown; SIGTERM would wait until every client has left.
	return errors.Join(p.process.stopBy(ctx, syscall.SIGINT), p.logFile())
}

// Kill ends the server at once, as a crash would.
func (p *Postgres) Kill() {
	p.process.Kill()
	_ = p.logFile()
}

// Restart starts the server again on its port and with its data, after stopping it if it still runs.
func (p *Postgres) Restart(ctx context.Context) error {
	if err := p.Stop(ctx); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return p.boot(ctx)
}

func (p *Postgres) path(name string) string { return filepath.Join(p.options.Dir, name) }

// command prepares a program of PostgreSQL under the account that may run it.
func (p *Postgres) command(program string, args ...string) *exec.Cmd {
	cmd := p.root.command(context.Background(), p.options.Dir, p.account, filepath.Join(p.programs, program), args...)
	cmd.Env = []string{"PATH=" + p.root.path(), "LC_ALL=C.UTF-8", "TZ=UTC"}
	return cmd
}

// install writes an empty cluster whose only account is ours, with a password.
func (p *Postgres) install(ctx context.Context) error {
	var err error
	if p.root, err = rootOf(p.options.Root, "POSTGRES"); err != nil {
		return err
	}
	if p.programs, err = findPostgres(p.root); err != nil {
		return err
	}
	if p.account, err = unprivileged(); err != nil {
		return err
	}
	if err := os.WriteFile(p.path("password"), []byte(p.password+"\n"), 0o600); err != nil {
		return fmt.Errorf("write its password: %w", err)
	}
	if p.account != nil {
		for _, name := range []string{p.options.Dir, p.path("password")} {
			if err := os.Chown(name, int(p.account.Uid), int(p.account.Gid)); err != nil {
				return fmt.Errorf("give its folder to its account: %w", err)
			}
		}
		if err := passable(p.options.Dir); err != nil {
			return err
		}
	}
	initdb := p.command("initdb", "--pgdata="+p.path("data"), "--username="+sqlAdmin, "--pwfile="+p.path("password"),
		"--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync")
	out := new(strings.Builder)
	initdb.Stdout, initdb.Stderr = out, out
	process, err := StartProcess(initdb)
	if err != nil {
		return err
	}
	select {
	case <-process.Done():
	case <-ctx.Done():
		process.Kill()
		return ctx.Err()
	}
	if err := process.Err(); err != nil {
		return fmt.Errorf("initdb: %w\n%.3000s", err, out)
	}
	return nil
}

func (p *Postgres) boot(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		err := p.bootOnce(ctx)
		// After a crash the last sessions take a moment to notice that their server is gone.
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "shared memory block") {
			return err
		}
	}
}

func (p *Postgres) bootOnce(ctx context.Context) error {
	logName := p.path("postgres.log")
	if err := os.Remove(logName); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("start PostgreSQL: clear its log: %w", err)
	}
	out, closeLog, err := output(logName, nil)
	if err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	// Shared memory is a file of its own folder: a server that is killed leaves a segment of the system's behind for good.
	args := []string{"-D", p.path("data"), "-p", strconv.Itoa(p.port), "-h", "127.0.0.1", "-k", "",
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "shared_buffers=32MB", "-c", "max_connections=200",
		"-c", "dynamic_shared_memory_type=mmap",
		"-c", "timezone=UTC", "-c", "log_timezone=UTC"}
	cmd := p.command("postgres", append(args, p.options.Args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	process, err := startServer("PostgreSQL", cmd)
	if err != nil {
		return errors.Join(fmt.Errorf("start PostgreSQL: %w", err), closeLog())
	}
	p.process, p.logFile = process, closeLog
	if err := poll(ctx, process, func(ctx context.Context) error { return p.Exec(ctx, "", "SELECT 1") }); err != nil {
		p.Kill()
		return fmt.Errorf("start PostgreSQL on %s: %w\nits log ends with:\n%s", p.Addr(), err, tail(logName))
	}
	return nil
}

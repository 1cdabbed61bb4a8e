package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// sqlAdmin is the account of a private SQL server that may do everything.
const sqlAdmin = "playground_admin"

// MariaDB is a private MariaDB server, or a MySQL where the root has no MariaDB, on a free loopback port. Its methods must not be called at the same time, save
// Exec and those that return addresses.
type MariaDB struct {
	options  SQLOptions
	root     root
	program  string
	port     int
	password string
	process  *Process
	logFile  func() error
}

// StartMariaDB makes an empty server in its folder, which must hold none yet, and returns when it answers. Committed
// rows survive Kill; they would not survive a crash of the machine, because nothing is forced to disk.
func StartMariaDB(ctx context.Context, options SQLOptions) (*MariaDB, error) {
	options, err := options.absolute()
	if err != nil {
		return nil, fmt.Errorf("start MariaDB: %w", err)
	}
	server := &MariaDB{options: options, password: newPassword()}
	if err := server.install(ctx); err != nil {
		return nil, fmt.Errorf("start MariaDB: %w", err)
	}
	for attempt := 1; ; attempt++ {
		ports, err := freePorts(1)
		if err != nil {
			return nil, fmt.Errorf("start MariaDB: %w", err)
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
func (m *MariaDB) Addr() string { return loopback(m.port) }

// DSN is the address of a database for an account, in the form of go-sql-driver/mysql.
func (m *MariaDB) DSN(user, password, database string) string {
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", m.Addr()
	config.User, config.Passwd, config.DBName = user, password, database
	return config.FormatDSN()
}

// AdminDSN is the address of a database, or of none when the name is empty, for an account that may do everything.
func (m *MariaDB) AdminDSN(database string) string { return m.DSN(sqlAdmin, m.password, database) }

// Exec runs statements as the administrator, in the database if it is named.
func (m *MariaDB) Exec(ctx context.Context, database string, statements ...string) error {
	return execute(ctx, "mysql", m.AdminDSN(database), statements)
}

// CreateDatabase makes an empty database. Its name must be a plain identifier.
func (m *MariaDB) CreateDatabase(ctx context.Context, name string) error {
	return m.Exec(ctx, "", "CREATE DATABASE `"+name+"`")
}

// CreateUser makes an account that may do nothing until something is granted to it. The name must be a plain
// identifier, and the password must hold no quotes.
func (m *MariaDB) CreateUser(ctx context.Context, name, password string) error {
	return m.Exec(ctx, "", "CREATE USER `"+name+"`@'%' IDENTIFIED BY '"+password+"'")
}

// PID is the process id of the server as it was last started.
func (m *MariaDB) PID() int { return m.process.PID() }

// Stop ends the server, by SIGKILL when it does not end before ctx does or within half a minute.
func (m *MariaDB) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return errors.Join(m.process.Stop(ctx), m.logFile())
}

// Kill ends the server at once, as a crash would.
func (m *MariaDB) Kill() {
	m.process.Kill()
	_ = m.logFile()
}

// Restart starts the server again on its port and with its data, after stopping it if it still runs.
func (m *MariaDB) Restart(ctx context.Context) error {
	if err := m.Stop(ctx); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return m.boot(ctx)
}

func (m *MariaDB) path(name string) string { return filepath.Join(m.options.Dir, name) }

// install writes the system tables, and the file that makes our account at every start.
func (m *MariaDB) install(ctx context.Context) error {
	var err error
	if m.root, err = rootOf(m.options.Root, "MARIADB"); err != nil {
		return err
	}
	cmd, lines := m.installer(ctx)
	if cmd == nil {
		return fmt.Errorf("mariadbd or mariadb-install-db is missing%s: install MariaDB (Debian and Ubuntu: apt-get install mariadb-server-core)", m.root.place())
	}
	if err := os.MkdirAll(m.path("tmp"), 0o700); err != nil {
		return err
	}
	cmd.Env = m.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("install: %w\n%.3000s", err, out)
	}
	account := sqlAdmin + "@'127.0.0.1'"
	lines = append([]string{
		"CREATE USER IF NOT EXISTS " + account + " IDENTIFIED BY '" + m.password + "';",
		"GRANT ALL ON *.* TO " + account + " WITH GRANT OPTION;",
	}, lines...)
	if err := os.WriteFile(m.path("init.sql"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("write its accounts: %w", err)
	}
	return nil
}

// installer finds the server and returns the command that writes its system tables, and the statements that take the accounts without a
// password away which every new server has; no command where a program is missing.
func (m *MariaDB) installer(ctx context.Context) (*exec.Cmd, []string) {
	// The folder of the server is in the path of root alone.
	program, ok := m.root.find("mariadbd", "/usr/sbin/mariadbd")
	install, found := m.root.find("mariadb-install-db", "mysql_install_db")
	if ok && found {
		m.program = program
		args := append([]string{"--no-defaults", "--datadir=" + m.path("data"), "--skip-test-db", "--skip-name-resolve",
			"--auth-root-authentication-method=normal"}, asRoot()...)
		return m.root.command(ctx, m.options.Dir, nil, install, args...),
			[]string{"DELETE FROM mysql.global_priv WHERE User IN ('', 'root');", "FLUSH PRIVILEGES;"}
	}
	if m.program, ok = m.root.find("mysqld", "/usr/sbin/mysqld"); !ok {
		return nil, nil
	}
	args := append([]string{"--no-defaults", "--initialize-insecure", "--datadir=" + m.path("data")}, asRoot()...)
	return m.root.command(ctx, m.options.Dir, nil, m.program, args...), []string{"DROP USER IF EXISTS root@localhost;"}
}

// environment gives the server a folder of its own for what is temporary: each that starts deletes the temporary tables of all others
// in the same one.
func (m *MariaDB) environment() []string {
	return append(os.Environ(), "PATH="+m.root.path(), "TMPDIR="+m.path("tmp"))
}

func (m *MariaDB) boot(ctx context.Context) error {
	logName := m.path("mariadb.log")
	out, closeLog, err := output(logName, nil)
	if err != nil {
		return fmt.Errorf("start MariaDB: %w", err)
	}
	cmd := m.root.command(context.Background(), m.options.Dir, nil, m.program, append(m.arguments(), m.options.Args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = m.environment(), out, out
	process, err := startServer("MariaDB", cmd)
	if err != nil {
		return errors.Join(fmt.Errorf("start MariaDB: %w", err), closeLog())
	}
	m.process, m.logFile = process, closeLog
	waiting, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := poll(waiting, process, func(ctx context.Context) error { return m.Exec(ctx, "", "SELECT 1") }); err != nil {
		m.Kill()
		return fmt.Errorf("start MariaDB on %s: %w\nits log ends with:\n%s", m.Addr(), err, tail(logName))
	}
	return nil
}

func (m *MariaDB) arguments() []string {
	return append([]string{"--no-defaults", "--datadir=" + m.path("data"),
		// Relative to the data: the path of a socket may have only 107 bytes.
		"--socket=mariadb.sock", "--pid-file=mariadb.pid",
		"--port=" + strconv.Itoa(m.port), "--bind-address=127.0.0.1", "--skip-name-resolve",
		"--init-file=" + m.path("init.sql"),
		"--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci",
		"--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync",
		"--innodb-buffer-pool-size=64M", "--loose-innodb-log-file-size=32M", "--max-connections=200",
		// MySQL opens a port for its other protocol, and wants a folder for files that nobody reads here.
		"--loose-mysqlx=OFF", "--secure-file-priv=" + m.options.Dir,
	}, asRoot()...)
}

// asRoot is the argument without which the server refuses to run as root.
func asRoot() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

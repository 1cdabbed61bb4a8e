package servers

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// SQLOptions says how a private MariaDB or PostgreSQL is started.
type SQLOptions struct {
	// Dir is the folder for everything that the server writes; it is created. Run as root, PostgreSQL works under an
	// unprivileged account, which must be able to pass through the folders above: the folder of t.TempDir is too private,
	// one that os.MkdirTemp makes under the system's temporary folder is not.
	Dir string
	// Root is the folder of another Debian, whose server is started instead of the machine's; empty takes the environment's MARIADB_ROOT
	// or POSTGRES_ROOT. It needs root.
	Root string
	// Args are further arguments of the server. They win over our own.
	Args []string
}

// absolute makes the folder's name absolute and creates it.
func (o SQLOptions) absolute() (SQLOptions, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, err
	}
	o.Dir = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return o, fmt.Errorf("make its folder: %w", err)
	}
	return o, nil
}

// newPassword returns 128 random bits as text that needs no quoting.
func newPassword() string { return rand.Text() }

// execute runs statements one after the other on one connection, which is closed afterwards: nothing is left behind
// for leak checks, and a restarted server finds no dead connection.
func execute(ctx context.Context, driver, dsn string, statements []string) (err error) {
	pool, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	connection, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	for _, statement := range statements {
		if _, err := connection.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.200s: %w", statement, err)
		}
	}
	return nil
}

package schemes

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// A Table is a database that holds the table of a scheme: MySQL, MariaDB or PostgreSQL.
type Table struct {
	DB *sql.DB
	// Postgres is true for PostgreSQL, which writes placeholders in another way.
	Postgres bool
}

type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// exec runs a statement with question marks as placeholders.
func (t Table) exec(ctx context.Context, on runner, query string, args ...any) error {
	_, err := on.ExecContext(ctx, t.written(query), args...)
	return err
}

func (t Table) written(query string) string {
	if !t.Postgres {
		return query
	}
	var b strings.Builder
	n := 0
	for _, r := range query {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		n++
		b.WriteString("$" + strconv.Itoa(n))
	}
	return b.String()
}

// isDuplicate says whether an INSERT failed because its key is there.
func isDuplicate(err error) bool {
	var my *mysql.MySQLError
	var pg *pgconn.PgError
	return errors.As(err, &my) && my.Number == 1062 || errors.As(err, &pg) && pg.Code == "23505"
}

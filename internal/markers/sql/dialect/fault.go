package dialect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"dedup-dashboard/internal/markers/codec"
	"dedup-dashboard/internal/markers/pace"
)

// Refusal is an answer of a database that is an error; the zero value is none.
type Refusal struct {
	// Code is the server's own: a number of MySQL, an SQLSTATE of PostgreSQL.
	Code string
	// Timeout says that the query ran into a limit of ours, or waited too long for a lock on the table.
	Timeout bool
	// Denied says that a privilege is missing; absent that the table, the column or the database is.
	Denied bool
	Absent bool
	// Passing says that the server is about to be gone or not there yet: the answer is no more lasting than silence.
	Passing bool
	// Text say what to do, as the end of a sentence that begins with the server's name.
	Text string
}

// Answered reports whether the server answered.
func (r Refusal) Answered() bool { return r.Code != "" }

// Explainer words errors for people: which server, what it said, what to do. It never shows the DSN.
type Explainer struct {
	// Dialect is that of the server.
	Dialect Dialect
	At      Address
}

// Explain returns err as a *dedup.Error. It passes nil, the end of the caller's context and its own results through.
func (e Explainer) Explain(err error) error { return pace.Explained(err, e.Describe) }

// Describe says what an error means and what to do.
func (e Explainer) Describe(err error) string {
	server := e.Dialect.Name() + " at " + e.At.Addr
	if r := e.Dialect.Refusal(err); r.Answered() {
		return server + " " + r.Text
	}
	var dns *net.DNSError
	var timeout net.Error
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return server + " refused the connection: check that it runs and that sql.dsn names its host and port"
	case errors.As(err, &dns):
		return server + " has no address: check the host name in sql.dsn and the name service"
	case errors.As(err, &unknown):
		return server + " showed a certificate of an unknown authority: name the authority in sql.dsn, or install it on this machine"
	case errors.As(err, &name):
		return server + " showed a certificate for another name: use the name in the certificate in sql.dsn"
	case errors.As(err, &record), errors.Is(err, mysql.ErrNoTLS):
		return server + " does not speak TLS: correct the TLS setting in sql.dsn"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return server + " did not answer in time: it is paused or overloaded, or a firewall drops packets"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn), pgconn.SafeToRetry(err), strings.Contains(err.Error(), "conn closed"):
		return server + " closed the connection: it stopped or restarted"
	}
	return server + " cannot be read: " + codec.Printable(err.Error())
}

// The error numbers of MySQL and MariaDB that are told apart: https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html
// and https://mariadb.com/kb/en/mariadb-error-codes/.
const (
	erTooManyConnections = 1040
	erDatabaseDenied     = 1044
	ErAccessDenied       = 1045
	erUnknownDatabase    = 1049
	erShutdown           = 1053
	erUnknownColumn      = 1054
	erHostBlocked        = 1129
	ErHostDenied         = 1130
	erTableDenied        = 1142
	erColumnDenied       = 1143
	erNoTable            = 1146
	ErUnknownVariable    = 1193
	erUserLimit          = 1203
	ErLockWaitTimeout    = 1205
	erSpecificDenied     = 1227
	erInterrupted        = 1317
	erConnectionKilled   = 1927
	erStatementTimeout   = 1969 // MariaDB
	erQueryTimeout       = 3024 // MySQL
)

// IsMySQL reports whether an error is the one with this number.
func IsMySQL(err error, number uint16) bool {
	var answer *mysql.MySQLError
	return errors.As(err, &answer) && answer.Number == number
}

// Refusal words an answer of the server, empty when err is none.
func (MySQL) Refusal(err error) Refusal {
	var answer *mysql.MySQLError
	if !errors.As(err, &answer) {
		return Refusal{}
	}
	r := Refusal{Code: strconv.Itoa(int(answer.Number))}
	switch answer.Number {
	case ErAccessDenied, ErHostDenied:
		r.Text = "refused the user name, password or host (error " + r.Code + "): check sql.dsn and the account's host"
	case erDatabaseDenied, erTableDenied, erColumnDenied, erSpecificDenied:
		r.Denied = true
		r.Text = "denies the account a right (error " + r.Code + "): " + codec.Printable(answer.Message) + "; `dashboard check` names the GRANT"
	case erUnknownDatabase:
		r.Absent = true
		r.Text = "has no such database: check the end of sql.dsn"
	case erNoTable, erUnknownColumn:
		r.Absent = true
		r.Text = "does not know what the configuration names: " + codec.Printable(answer.Message)
	case erTooManyConnections, erUserLimit:
		r.Text = "has no free connection (error " + r.Code + "): raise max_connections or close idle ones"
		r.Passing = true
	case erHostBlocked:
		r.Text = "blocks this host after too many connection errors: run FLUSH HOSTS there"
	case erShutdown, erConnectionKilled:
		r.Passing = true
		r.Text = "closed the connection: it stops, or someone killed the connection"
	case erStatementTimeout, erQueryTimeout, erInterrupted:
		r.Timeout = true
		r.Text = "needed more than " + QueryLimit.String() + " for a small part of the table: it is overloaded"
	case ErLockWaitTimeout:
		r.Timeout = true
		r.Text = "keeps the table locked: another session alters or locks it"
	default:
		r.Text = "answered error " + r.Code + ": " + codec.Printable(answer.Message)
	}
	return r
}

// Refusal reads the SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html.
func (PostgreSQL) Refusal(err error) Refusal {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return Refusal{}
	}
	r := Refusal{Code: answer.Code}
	switch answer.Code {
	case "28P01", "28000":
		r.Text = "refused the user name or password (" + r.Code + "): check sql.dsn and pg_hba.conf"
	case "42501":
		r.Denied = true
		r.Text = "denies the account a right: " + codec.Printable(answer.Message) + "; `dashboard check` names the GRANT"
	case "3D000":
		r.Absent = true
		r.Text = "has no such database: check the end of sql.dsn"
	case "42P01", "42703", "3F000":
		r.Absent = true
		r.Text = "does not know what the configuration names: " + codec.Printable(answer.Message)
	case "53300":
		r.Passing = true
		r.Text = "has no free connection (53300): raise max_connections or close idle ones"
	case "57P03":
		r.Passing = true
		r.Text = "is starting or shutting down: it answers when that is done"
	case "57P01", "57P02", "57P05":
		r.Passing = true
		r.Text = "closed the connection: it stops, or someone ended the connection"
	case "57014":
		r.Timeout = true
		r.Text = "needed more than " + QueryLimit.String() + " for a small part of the table: it is overloaded"
	case "55P03":
		r.Timeout = true
		r.Text = "keeps the table locked: another session alters or locks it"
	default:
		r.Text = "answered " + codec.Printable(answer.Code+" "+answer.Message)
	}
	return r
}

// RefusalText is what the server itself said.
func RefusalText(err error) string {
	var my *mysql.MySQLError
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &my):
		return codec.Printable(my.Message)
	case errors.As(err, &pg):
		return codec.Printable(pg.Message)
	}
	return codec.Printable(err.Error())
}

// Package dialect is what differs between MySQL, MariaDB and PostgreSQL: addresses, expressions, the catalogue, lock waits, and failures in words.
package dialect

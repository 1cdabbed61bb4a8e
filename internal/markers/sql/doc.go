// Package sql reads markers that are rows of a table: in MySQL, MariaDB or PostgreSQL.
package sql

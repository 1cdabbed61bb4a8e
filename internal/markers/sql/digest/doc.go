// Package digest reads what a database server counts of the statements that it runs: MySQL's and MariaDB's statement digests, PostgreSQL's
// pg_stat_statements. It tells inserts and questions about one table of markers from all else, and adds up how many of them met a row that was there.
package digest

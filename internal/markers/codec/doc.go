// Package codec reads keys and values as consumers write them: which keys a pattern finds, and which status and time a value holds. It does no I/O.
package codec

// Package redis reads and changes markers that are Redis strings or locks: one key for each marker on one server.
package redis

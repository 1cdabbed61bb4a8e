// Package redis reads and changes markers that are Redis keys: one key for each marker on one server.
package redis

// Package client reaches a Redis server: connections that leave no trace, what INFO says, and failures in words.
package client

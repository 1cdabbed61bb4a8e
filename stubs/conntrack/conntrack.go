// Package conntrack stands in for the tracing of connections and opens none; see stubs/README.md.
package conntrack

import (
	"context"
	"errors"
	"net"
)

// DialOption would set something of a connection.
type DialOption struct{}

// DialWithDialContextFunc would say who opens the connection.
func DialWithDialContextFunc(func(context.Context, string, string) (net.Conn, error)) DialOption {
	return DialOption{}
}

// DialWithTracing would show the connection on a page of its own.
func DialWithTracing() DialOption { return DialOption{} }

// DialWithName would name the connection.
func DialWithName(string) DialOption { return DialOption{} }

// NewDialContextFunc returns a function that always fails.
func NewDialContextFunc(...DialOption) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("traced connections are not supported: this program is built without them")
	}
}

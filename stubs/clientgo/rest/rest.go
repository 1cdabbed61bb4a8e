// Package rest stands in for the REST client of Kubernetes; see stubs/README.md.
package rest

import "context"

// WarningHandlerWithContext would receive the warnings of a Kubernetes API.
type WarningHandlerWithContext interface {
	HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string)
}

// WarningLogger would log them.
type WarningLogger struct{}

// HandleWarningHeaderWithContext panics: without a client there is nobody to warn.
func (WarningLogger) HandleWarningHeaderWithContext(context.Context, int, string, string) {
	panic("Kubernetes is not supported: this program is built without its client")
}

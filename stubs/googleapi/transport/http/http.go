// Package http stands in for requests with a token of Google's cloud and makes none; see stubs/README.md.
package http

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/api/option"
)

// NewTransport always fails.
func NewTransport(context.Context, http.RoundTripper, ...option.ClientOption) (http.RoundTripper, error) {
	return nil, errors.New("Google IAM is not supported: this program is built without the SDK of Google's cloud")
}

// Package oauth2 stands in for the OAuth 2.0 client and refuses each token; see stubs/README.md.
package oauth2

import (
	"context"
	"errors"
	"net/http"
	"time"
)

var errNotSupported = errors.New("OAuth 2.0 is not supported: this program is built without its client")

type contextKey struct{}

// HTTPClient is the key of a client in a context, which nothing reads.
var HTTPClient contextKey

// Token would be what a request carries.
type Token struct {
	AccessToken string
	TokenType   string
	Expiry      time.Time
	ExpiresIn   int64
}

// TokenSource would hand out tokens.
type TokenSource interface {
	Token() (*Token, error)
}

// ReuseTokenSource returns a source that always fails.
func ReuseTokenSource(*Token, TokenSource) TokenSource { return NoTokens{} }

// NoTokens refuses each request and hands out no token.
type NoTokens struct{}

// Token always fails.
func (NoTokens) Token() (*Token, error) { return nil, errNotSupported }

// RoundTrip always fails.
func (NoTokens) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNotSupported }

// Transport would add a token to each request.
type Transport struct {
	Source TokenSource
	Base   http.RoundTripper
}

// RoundTrip always fails: the request needs a token.
func (*Transport) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNotSupported }

// NewClient returns a client whose requests all fail.
func NewClient(context.Context, TokenSource) *http.Client {
	return &http.Client{Transport: NoTokens{}}
}

// RetrieveError would say why a token was refused.
type RetrieveError struct {
	Response *http.Response
	Body     []byte
}

func (*RetrieveError) Error() string { return errNotSupported.Error() }

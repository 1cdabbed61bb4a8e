// Package clientcredentials stands in for tokens by a client's own secret and refuses each; see stubs/README.md.
package clientcredentials

import (
	"context"
	"net/url"

	"golang.org/x/oauth2"
)

// Config would describe a client.
type Config struct {
	ClientID, ClientSecret string
	TokenURL               string
	Scopes                 []string
	EndpointParams         url.Values
}

// TokenSource returns a source that always fails.
func (*Config) TokenSource(context.Context) oauth2.TokenSource { return oauth2.NoTokens{} }

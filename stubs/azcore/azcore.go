// Package azcore stands in for the core of the SDK of Azure; see stubs/README.md. It has types only: azidentity hands out no credential.
package azcore

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// TokenCredential would hand out tokens.
type TokenCredential interface {
	GetToken(ctx context.Context, options policy.TokenRequestOptions) (AccessToken, error)
}

// AccessToken would be what a request carries.
type AccessToken struct {
	Token     string
	ExpiresOn time.Time
}

// ClientOptions would say which cloud is asked.
type ClientOptions struct {
	Cloud cloud.Configuration
}

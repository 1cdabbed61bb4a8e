// Package google stands in for the credentials of Google's cloud and finds none; see stubs/README.md.
package google

import (
	"context"
	"errors"
)

// Credentials would be an account of Google's cloud.
type Credentials struct{}

// FindDefaultCredentials always fails.
func FindDefaultCredentials(context.Context, ...string) (*Credentials, error) {
	return nil, errors.New("Google IAM is not supported: this program is built without the SDK of Google's cloud")
}

// Package sigv4 stands in for the signing of requests to Amazon's services; see stubs/README.md.
package sigv4

import "errors"

// SigV4Config is refused wherever a configuration holds one.
type SigV4Config struct{}

// UnmarshalYAML always fails.
func (*SigV4Config) UnmarshalYAML(func(any) error) error {
	return errors.New("sigv4 is not supported: this program is built without the SDK of AWS")
}

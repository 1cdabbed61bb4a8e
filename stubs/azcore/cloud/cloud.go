// Package cloud stands in for the names of the clouds of Azure; see stubs/README.md.
package cloud

// Configuration would hold the addresses of a cloud.
type Configuration struct{}

// The clouds that the history library names.
var AzureChina, AzureGovernment, AzurePublic Configuration

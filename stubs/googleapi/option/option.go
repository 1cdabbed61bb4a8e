// Package option stands in for the options of Google's clients, which nothing reads; see stubs/README.md.
package option

import "golang.org/x/oauth2/google"

// ClientOption would set something of a client.
type ClientOption struct{}

// CredentialsType would say what a file of credentials holds.
type CredentialsType string

// ServiceAccount would be a file with the key of an account.
const ServiceAccount CredentialsType = "service_account"

// WithScopes would say what a token is for.
func WithScopes(...string) ClientOption { return ClientOption{} }

// WithAuthCredentialsFile would name a file of credentials.
func WithAuthCredentialsFile(CredentialsType, string) ClientOption { return ClientOption{} }

// WithCredentials would give the credentials themselves.
func WithCredentials(*google.Credentials) ClientOption { return ClientOption{} }

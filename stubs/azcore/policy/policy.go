// Package policy stands in for the options of a request for a token; see stubs/README.md.
package policy

// TokenRequestOptions would say what a token is for.
type TokenRequestOptions struct {
	Scopes []string
}

// Package gcp is empty: a test of the history library imports it, so go mod tidy looks for it; see stubs/README.md.
package gcp

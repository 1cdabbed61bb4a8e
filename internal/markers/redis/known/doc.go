// Package known remembers keys: those that a pass has met of late, and those that we have read ourselves.
package known

// Package layout says which keys of a Redis database are a store's, and makes a key and what it holds a marker. It does no I/O.
package layout

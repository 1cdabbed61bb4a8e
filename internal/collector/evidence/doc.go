// Package evidence gathers what brokers tell of whoever may hold the markers of a store, without I/O.
package evidence

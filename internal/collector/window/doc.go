// Package window makes the figures of a pipeline over a span out of what was counted of it, without I/O.
package window

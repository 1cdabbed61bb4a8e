// Package window cuts what was counted of a pipeline to a span, asks every source for its rate of it, and returns the figures of that window.
package window

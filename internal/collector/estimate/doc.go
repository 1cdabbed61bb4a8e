// Package estimate is the arithmetic of errors: it turns counts and samples into numbers with the bounds of what they may be off by, and knows no source by name.
package estimate

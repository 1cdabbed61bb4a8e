// Package rate turns the samples of one source into its duplicate rate, or into why that source cannot tell.
package rate

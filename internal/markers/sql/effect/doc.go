// Package effect runs the query of a pipeline that lists the keys whose work was done more than once.
package effect

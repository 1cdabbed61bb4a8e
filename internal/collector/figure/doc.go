// Package figure makes the figures of a window of samples and estimates: it chooses among them and explains them, without I/O.
package figure

// Package figure turns the rates and counts of a window into what is shown: it chooses among sources, splits and explains.
package figure

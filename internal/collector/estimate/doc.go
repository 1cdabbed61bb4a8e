// Package estimate turns samples of a broker and of a store into figures with their errors; it asks nobody and keeps nothing.
package estimate

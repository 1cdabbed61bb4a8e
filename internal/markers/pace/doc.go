// Package pace keeps reading a store of any kind within its bounds: how fast it goes, how long it waits, and how much of what it finds it keeps.
package pace

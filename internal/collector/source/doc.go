// Package source reads things on timers, each with its deadline, its back-off and its health, and knows when they were down.
package source
